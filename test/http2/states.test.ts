/** Every cell of the table of stream states (RFC 9113, section 5.1), on a server and on a client. */
import { describe, expect, it } from "vitest";
import { ErrorCode, FrameType } from "../../runtime/src/http2/codes.ts";
import { Action, ON_DATA, ON_HEADERS, ON_RESET, ON_WINDOW_UPDATE, State } from "../../runtime/src/http2/stream.ts";
import {
  block,
  data,
  END_HEADERS,
  END_STREAM,
  frame,
  headers,
  REQUEST,
  RESPONSE,
  rst,
  settings,
  uint32,
  windowUpdate,
} from "./support/frames.ts";
import { bytesOf, frozen, RecordedClient, RecordedServer } from "./support/recorder.ts";

/** A connection with a stream in the given state, and its id. */
interface Scene {
  readonly side: RecordedServer | RecordedClient;
  readonly id: number;
}

const OK = frozen("content-type", "application/grpc");
const NONE = frozen();

const SERVER: Readonly<Record<keyof typeof State, () => Scene>> = {
  Idle: () => ({ side: new RecordedServer(), id: 1 }),
  Open: () => served(headers(1, REQUEST)),
  HalfRemote: () => served(headers(1, REQUEST, END_HEADERS | END_STREAM)),
  // A server that has responded early resets the rest of the request, so only clients have this state.
  HalfLocal: () => served(headers(1, REQUEST)),
  Ended: () =>
    served(headers(1, REQUEST, END_HEADERS | END_STREAM), (side) =>
      side.requests[0]?.stream?.respond(200, OK, undefined, NONE, true),
    ),
  WeReset: () => served(headers(1, REQUEST), (side) => side.requests[0]?.stream?.reset(ErrorCode.Cancel)),
  PeerReset: () => served(Buffer.concat([headers(1, REQUEST), rst(1)])),
  Forgotten: () => {
    const side = new RecordedServer();
    side.onRequest = (stream) => stream.respond(200, NONE, undefined, undefined, true);
    for (let id = 1; id < 2 * 70; id += 2) side.receive(headers(id, REQUEST, END_HEADERS | END_STREAM));
    side.bytes();
    return { side, id: 1 };
  },
  Skipped: () => ({ ...served(headers(5, REQUEST)), id: 1 }),
};

function served(bytes: Uint8Array, act: (side: RecordedServer) => void = () => {}): Scene {
  const side = new RecordedServer();
  side.receive(bytes);
  act(side);
  side.bytes();
  return { side, id: 1 };
}

const CLIENT: Readonly<Record<keyof typeof State, () => Scene>> = {
  Idle: () => ({ side: new RecordedClient(), id: 1 }),
  Open: () => called(false, headers(1, RESPONSE)),
  HalfRemote: () => called(false, headers(1, RESPONSE, END_HEADERS | END_STREAM)),
  HalfLocal: () => called(true, headers(1, RESPONSE)),
  Ended: () => called(true, headers(1, RESPONSE, END_HEADERS | END_STREAM)),
  WeReset: () => {
    const side = new RecordedClient();
    side.open().stream?.reset(ErrorCode.Cancel);
    side.bytes();
    return { side, id: 1 };
  },
  PeerReset: () => called(true, rst(1)),
  Forgotten: () => {
    const side = new RecordedClient();
    for (let id = 1; id < 2 * 70; id += 2) {
      side.open();
      side.bytes();
      side.receive(headers(id, RESPONSE, END_HEADERS | END_STREAM));
    }
    return { side, id: 1 };
  },
  // A client knows the ids that it has used.
  Skipped: () => CLIENT.Forgotten(),
};

function called(isEnd: boolean, bytes: Uint8Array): Scene {
  const side = new RecordedClient();
  side.open(undefined, isEnd);
  side.bytes();
  side.receive(bytes);
  side.bytes();
  return { side, id: 1 };
}

const ROWS = [
  {
    name: "HEADERS",
    table: ON_HEADERS,
    send: (id: number) => headers(id, ["x-trailer", "1"], END_HEADERS | END_STREAM),
  },
  { name: "DATA", table: ON_DATA, send: (id: number) => data(id, "abc") },
  { name: "RST_STREAM", table: ON_RESET, send: (id: number) => rst(id) },
  { name: "WINDOW_UPDATE", table: ON_WINDOW_UPDATE, send: (id: number) => windowUpdate(id, 10) },
] as const;

const nameOf = (states: object, value: number): string =>
  Object.entries(states).find(([, one]) => one === value)?.[0] ?? "";

const stateNames = Object.keys(State) as (keyof typeof State)[];
const cells = ROWS.flatMap(({ name, table, send }) =>
  stateNames.map((state) => [name, state, nameOf(Action, table[State[state]] as number), send] as const),
);

/** The effect of an action that is visible to the peer. */
const OUTCOMES: Readonly<Record<string, number | undefined>> = {
  Protocol: ErrorCode.ProtocolError,
  Closed: ErrorCode.StreamClosed,
};

describe.each([
  ["server", SERVER],
  ["client", CLIENT],
] as const)("a %s", (role, scenes) => {
  it.each(cells)("that receives %s on a stream that is %s: %s", (type, state, action, send) => {
    if ((role === "server" && state === "HalfLocal") || (role === "client" && state === "Skipped")) return;
    const { side, id } = scenes[state]();
    side.receive(send(id));
    // A block that opens a stream is a request; a client receives no trailers without a response.
    if (type === "HEADERS" && state === "Idle") {
      if (role === "client") expect(side.over?.code).toBe(ErrorCode.ProtocolError);
      else expect(resets(side)).toEqual([[id, ErrorCode.ProtocolError]]);
      return;
    }
    expect(side.over?.code).toBe(OUTCOMES[action]);
    if (action === "Reset") expect(resets(side)).toEqual([[id, ErrorCode.StreamClosed]]);
    if (action !== "Accept") return;
    if (type === "RST_STREAM") expect(side.connection.streams.size).toBe(0);
    else expect(resets(side)).toEqual([]);
  });

  it("ignores PRIORITY in every state", () => {
    for (const state of stateNames) {
      const { side, id } = scenes[state]();
      side.receive(frame(FrameType.Priority, 0, id, [...uint32(0), 16]));
      expect([state, side.over]).toEqual([state, undefined]);
    }
  });

  it.each(["PushPromise", "Continuation"] as const)("ends the connection for %s in every state", (type) => {
    for (const state of stateNames) {
      const { side, id } = scenes[state]();
      side.receive(frame(FrameType[type], END_HEADERS, id, uint32(2)));
      expect([state, side.over?.code]).toEqual([state, ErrorCode.ProtocolError]);
    }
  });

  it("decodes header blocks on closed streams, because they change the meaning of later ones", () => {
    for (const state of ["WeReset", "Forgotten"] as const) {
      const { side, id } = scenes[state]();
      // Inserts x-kept: 1.
      const inserted = frame(FrameType.Headers, END_HEADERS | END_STREAM, id, "\x40\x06x-kept\x011");
      side.receive(inserted);
      if (role === "server") {
        const next = id + 2_000;
        side.receive(
          frame(
            FrameType.Headers,
            END_HEADERS | END_STREAM,
            next + 1 - (next % 2),
            Buffer.concat([block(REQUEST), Buffer.of(0xbe)]),
          ),
        );
        const { requests } = side as RecordedServer;
        expect(requests.at(-1)?.block?.fields.slice(-2)).toEqual(["x-kept", "1"]);
      } else {
        const heard = (side as RecordedClient).open();
        side.receive(
          frame(
            FrameType.Headers,
            END_HEADERS | END_STREAM,
            heard.stream?.id ?? 0,
            Buffer.concat([block(RESPONSE), Buffer.of(0xbe)]),
          ),
        );
        expect(heard.block?.fields.slice(-2)).toEqual(["x-kept", "1"]);
      }
    }
  });

  it("credits DATA of closed streams to the connection", () => {
    for (const state of ["WeReset", "Forgotten"] as const) {
      const { side, id } = scenes[state]();
      let announced = 0;
      // A window of a stream at a time causes no glitches; half of that of the connection is announced.
      for (let i = 0; i < 150; i++) {
        side.receive(data(id, bytesOf(16_000)));
        for (const { type, streamId } of side.frames())
          if (type === FrameType.WindowUpdate && streamId === 0) announced++;
      }
      expect([state, side.over, announced > 0]).toEqual([state, undefined, true]);
    }
  });
});

function resets(side: RecordedServer | RecordedClient): number[][] {
  return side
    .frames()
    .filter(({ type }) => type === FrameType.RstStream)
    .map(({ streamId, payload }) => [streamId, Buffer.from(payload).readUInt32BE()]);
}

describe("a stream that was reset", () => {
  const malformed = [...REQUEST, "", "x"];

  it.each([
    ["a malformed request", [headers(1, malformed, END_HEADERS | END_STREAM)]],
    ["malformed trailers", [headers(1, REQUEST), headers(1, ["", "x"], END_HEADERS | END_STREAM)]],
    ["too little data", [headers(1, [...REQUEST, "content-length", "4"]), data(1, "abc", END_STREAM)]],
    ["too much data", [headers(1, [...REQUEST, "content-length", "2"]), data(1, "abc", END_STREAM)]],
  ] as const)("accepts no data after the end of %s", (_, frames) => {
    const side = new RecordedServer();
    side.receive(...frames);
    expect(resets(side)).toEqual([[1, ErrorCode.ProtocolError]]);
    side.receive(data(1, "abc"), data(1, "abc"));
    expect([resets(side), side.over]).toEqual([[[1, ErrorCode.StreamClosed]], undefined]);
  });

  it("ignores data that was sent before the client received the reset", () => {
    const side = new RecordedServer();
    side.receive(headers(1, malformed), data(1, "abc"), data(1, "abc", END_STREAM));
    expect([resets(side), side.over]).toEqual([[[1, ErrorCode.ProtocolError]], undefined]);
  });
});

describe("stream ids", () => {
  it("are odd and increasing for clients (section 5.1.1)", () => {
    const even = new RecordedServer();
    even.receive(headers(2, REQUEST));
    expect(even.over?.code).toBe(ErrorCode.ProtocolError);
    const lower = new RecordedServer();
    lower.receive(headers(5, REQUEST), headers(3, REQUEST));
    expect(lower.over?.code).toBe(ErrorCode.ProtocolError);
  });

  it("are assigned in the order of HEADERS, even if streams had to wait", () => {
    const client = new RecordedClient(false);
    client.receive(settings([3, 1]));
    client.bytes();
    const calls = [client.open(), client.open(), client.open()];
    expect(calls.map(({ stream }) => stream?.id)).toEqual([1, 0, 0]);
    calls[1]?.stream?.reset(ErrorCode.Cancel);
    expect(calls[1]?.closed).toBe(1);
    client.receive(headers(1, RESPONSE, END_HEADERS | END_STREAM));
    expect(calls[2]?.stream?.id).toBe(3);
    expect(client.frames().map(({ type, streamId }) => [type, streamId])).toEqual([
      [FrameType.Headers, 1],
      [FrameType.Headers, 3],
    ]);
    expect(client.connection.streams.size).toBe(1);
  });
});
