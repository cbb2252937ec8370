/** The reader of `google.rpc.Status` against protobuf-es, for messages of all kinds and for damaged ones. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StatusSchema } from "../../runtime/src/gen/google/rpc/status_pb.ts";
import { decodeDetails } from "../../runtime/src/grpc/status.ts";

const text = fc.string({ unit: "grapheme" });
const detail = fc.record({ typeUrl: text, value: fc.uint8Array({ maxLength: 300 }) });
/** Fields that the message does not have, in the wire types varint, 64 bits, length and 32 bits. */
const unknown = fc.constantFrom(
  [0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
  [0x29, 1, 2, 3, 4, 5, 6, 7, 8],
  [0x32, 2, 7, 7],
  [0x3d, 1, 2, 3, 4],
);

/** Returns the details as protobuf-es reads them; `undefined` if it refuses the bytes. */
function byProtobufEs(bytes: Uint8Array): object[] | undefined {
  try {
    return fromBinary(StatusSchema, bytes).details.map(({ typeUrl, value }) => ({ typeUrl, value: [...value] }));
  } catch {
    return undefined;
  }
}

/** The wire types of the fields, by number. */
const ANY_TYPES: Readonly<Record<number, WireType>> = { 1: WireType.LengthDelimited, 2: WireType.LengthDelimited };
const STATUS_TYPES: Readonly<Record<number, WireType>> = {
  1: WireType.Varint,
  2: WireType.LengthDelimited,
  3: WireType.LengthDelimited,
};

/**
 * Reports whether the bytes are a message whose known fields have their own wire types. Fields with another wire type are
 * unknown fields, but protobuf-es reads them as known ones, and it reads fields that are longer than their message.
 */
function isWellFormed(bytes: Uint8Array, types = STATUS_TYPES): boolean {
  try {
    const reader = new BinaryReader(bytes);
    while (reader.pos < reader.len) {
      const [number, type] = reader.tag();
      if (type !== (types[number] ?? type)) return false;
      if (types !== STATUS_TYPES || number !== 3) reader.skip(type, number);
      else if (!isWellFormed(reader.bytes(), ANY_TYPES)) return false;
    }
    return true;
  } catch {
    return false;
  }
}

function decoded(bytes: Uint8Array): object[] {
  return decodeDetails(bytes).map(({ typeUrl, value }) => ({ typeUrl, value: [...value] }));
}

describe("details of a google.rpc.Status", () => {
  it("are those that protobuf-es reads, with fields that are not known", () => {
    fc.assert(
      fc.property(fc.integer(), text, fc.array(detail), fc.array(unknown), (code, message, details, extra) => {
        const status = create(StatusSchema, { code, message, details: details.map((init) => create(AnySchema, init)) });
        const bytes = Uint8Array.from([...extra.flat(), ...toBinary(StatusSchema, status), ...extra.flat()]);
        expect(decoded(bytes)).toEqual(byProtobufEs(bytes));
      }),
    );
  });

  it("are those that protobuf-es reads, if both accept damaged bytes", () => {
    const damaged = fc.tuple(fc.array(detail, { minLength: 1 }), fc.nat(), fc.integer({ min: 0, max: 255 }), fc.nat());
    fc.assert(
      fc.property(damaged, ([details, place, byte, end]) => {
        const status = create(StatusSchema, { code: 5, details: details.map((init) => create(AnySchema, init)) });
        const bytes = toBinary(StatusSchema, status);
        bytes[place % bytes.length] = byte;
        const cut = bytes.subarray(0, bytes.length - (end % 3));
        const expected = byProtobufEs(cut);
        let own = expected;
        try {
          own = decoded(cut);
        } catch (reason) {
          expect(reason).toBeInstanceOf(Error);
        }
        if (expected !== undefined && isWellFormed(cut)) expect(own).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  it("do not share memory with the header that carried them", () => {
    const bytes = toBinary(
      StatusSchema,
      create(StatusSchema, { details: [create(AnySchema, { typeUrl: "a", value: Uint8Array.of(1) })] }),
    );
    const [first] = decodeDetails(bytes);
    bytes.fill(9);
    expect([...(first?.value ?? [])]).toEqual([1]);
  });

  it("are not read from fields with another wire type", () => {
    expect(decodeDetails(Uint8Array.of(0x18, 5, 0x1a, 3, 0x0a, 1, 0x20))).toEqual([
      { typeUrl: " ", value: new Uint8Array() },
    ]);
  });

  it.each([
    ["a length beyond the end", [0x1a, 5, 1]],
    ["a varint that does not end", [0x08, 0x80]],
    ["a varint of more than ten bytes", [0x08, ...Array<number>(10).fill(0x80), 1]],
    ["a group", [0x23, 0x24]],
    ["a type URL that is not UTF-8", [0x1a, 3, 0x0a, 1, 0xff]],
  ])("are refused with %s", (_what, bytes) => {
    expect(() => decodeDetails(Uint8Array.from(bytes))).toThrow();
  });
});
