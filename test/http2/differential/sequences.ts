/** Sequences of frames for servers: valid requests, and frames that are nearly right among them. */
import fc from "fast-check";
import { FrameType, Setting } from "../../../runtime/src/http2/codes.ts";
import {
  ACK,
  block,
  data,
  END_HEADERS,
  END_STREAM,
  frame,
  headers,
  PADDED,
  PRIORITY,
  ping,
  REQUEST,
  rst,
  settings,
  uint32,
  windowUpdate,
} from "../support/frames.ts";

const END = END_HEADERS | END_STREAM;
const FIELDS = REQUEST.slice(0, 8);

/** Frames that are allowed in most states. */
const allowed = fc.constantFrom(
  data(1, "abc"),
  data(1, "abc", END_STREAM),
  data(1, ""),
  headers(1, ["x-end", "1"], END),
  headers(3, FIELDS, END),
  headers(3, FIELDS),
  data(3, "abc", END_STREAM),
  rst(1),
  rst(3),
  windowUpdate(0, 100),
  windowUpdate(1, 100),
  ping(),
  settings([Setting.InitialWindowSize, 100_000]),
  settings([Setting.HeaderTableSize, 0]),
  frame(0, PADDED, 1, [2, 1, 1, 0, 0]),
  frame(2, 0, 5, [...uint32(0), 9]),
  frame(0xbe, 0, 0, [1, 2, 3]),
  frame(1, END | PRIORITY, 5, [...uint32(0), 9, ...block(FIELDS)]),
);

/** Requests that are malformed, or unusual. */
const fields = fc.constantFrom(
  [...FIELDS, "content-length", "3"],
  [...FIELDS, "content-length", "x"],
  [...FIELDS, "Upper", "1"],
  [...FIELDS, "connection", "close"],
  [...FIELDS, "te", "gzip"],
  [...FIELDS, "x-a", "b\nc"],
  [...FIELDS, "x-a", "b\0"],
  [...FIELDS, "x a", "b"],
  [...FIELDS, "", "b"],
  [...FIELDS, ":path", "/twice"],
  [...FIELDS, ":unknown", "1"],
  ["x-a", "b", ...FIELDS],
  FIELDS.slice(2),
  FIELDS.slice(0, 4),
  [...FIELDS.slice(0, 4), ":path", "", ...FIELDS.slice(6)],
);

const mutated = fc
  .record({
    type: fc.nat(10),
    flags: fc.constantFrom(0, 1, 4, 5, 8, 9, 0x0d, 0x20, 0x25),
    streamId: fc.constantFrom(0, 1, 2, 3, 5),
    payload: fc.constantFrom<Uint8Array>(
      Buffer.alloc(0),
      Buffer.alloc(1),
      Buffer.alloc(3),
      Buffer.alloc(4),
      Buffer.from(uint32(1)),
      Buffer.from(uint32(0x7fff_ffff)),
      Buffer.alloc(5),
      Buffer.from([...uint32(1), 3]),
      Buffer.alloc(6),
      Buffer.alloc(8),
      Buffer.alloc(9),
      block(FIELDS),
      Buffer.from([0x80]),
      Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]),
      Buffer.from([0x3f, 0xe1, 0x7f]),
    ),
  })
  .map(({ type, flags, streamId, payload }) => frame(type, flags, streamId, payload));

const first = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(headers(1, FIELDS), headers(1, FIELDS, END)) },
  {
    weight: 1,
    arbitrary: fc.tuple(fields, fc.boolean()).map(([all, ends]) => headers(1, all, ends ? END : END_HEADERS)),
  },
);

/** The frames that a client sends after its preface and SETTINGS. */
export const sequence: fc.Arbitrary<Buffer[]> = fc
  .tuple(
    fc.option(first, { freq: 9, nil: undefined }),
    fc.array(fc.oneof({ weight: 2, arbitrary: allowed }, { weight: 1, arbitrary: mutated }), { maxLength: 3 }),
  )
  .map(([opening, rest]) => (opening === undefined ? rest : [opening, ...rest]));

const VALID = [headers(1, FIELDS), headers(1, FIELDS, END), headers(3, FIELDS), headers(3, FIELDS, END)];

/** Reports whether a sequence has a HEADERS frame that is not one of the valid ones. */
export function isMalformed(frames: readonly Buffer[]): boolean {
  return frames.some((one) => one[3] === FrameType.Headers && !VALID.some((valid) => valid.equals(one)));
}

/** Reports whether a frame is a valid acknowledgement of SETTINGS. A sequence follows no SETTINGS that it could be for. */
export function isAcknowledgement(one: Buffer): boolean {
  return (
    one[3] === FrameType.Settings && ((one[4] as number) & ACK) !== 0 && one.length === 9 && one.readUInt32BE(5) === 0
  );
}

/** The stream of the request that tells whether the connection still serves. */
export const PROBE = 1_001;
export const probe: Buffer = headers(PROBE, FIELDS, END);
