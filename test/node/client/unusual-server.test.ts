/**
 * Servers that end their streams in unusual ways, frame by frame: no call hangs, no call accepts a malformed response, and
 * the next call is not affected.
 */
import { once } from "node:events";
import { Code } from "triple-es";
import { describe, expect, it } from "vitest";
import {
  block,
  Flag,
  frame,
  goAway,
  greet,
  type RawStream,
  reset,
  respond,
  settings,
  startRawServer,
  Type,
  words,
} from "../../support/frames.ts";
import { pause } from "../../support/pause.ts";
import { connectGreeter, failureOf, greetings, signalled } from "../../support/server.ts";

const MAX_CONCURRENT_STREAMS = 3;
const INITIAL_WINDOW_SIZE = 4;
const MESSAGE = Buffer.from([0, 0, 0, 0, 5, 0x0a, 3, 0x41, 0x64, 0x61]);
const END = Flag.endHeaders | Flag.endStream;

type Fields = [name: string, value: string][];

const data = ({ connection, id }: RawStream, bytes: Uint8Array, flags = 0): unknown =>
  connection.write(frame(Type.data, flags, id, bytes));
const headers = ({ connection, id }: RawStream, flags: number, ...fields: Fields): unknown =>
  connection.write(frame(Type.headers, flags, id, block(...fields)));
/** A response without its trailers. */
const answer = (stream: RawStream): void => {
  respond(stream);
  data(stream, MESSAGE);
};

/** Long enough for data that is sent at once, and short enough for a test. */
const TIMEOUT_MS = 3_000;

type Row = [name: string, act: (stream: RawStream) => unknown, outcome: Code | string];

const ROWS: Row[] = [
  [
    "headers alone, without a status",
    (stream) => headers(stream, END, [":status", "200"], ["content-type", "application/grpc"]),
    Code.Internal,
  ],
  [
    "headers alone, with nothing but the HTTP status",
    (stream) => headers(stream, END, [":status", "200"]),
    Code.Unknown,
  ],
  [
    "headers alone, that promise success",
    (stream) => headers(stream, END, [":status", "200"], ["content-type", "application/grpc"], ["grpc-status", "0"]),
    Code.Unimplemented,
  ],
  [
    "headers without a status of HTTP",
    (stream) => headers(stream, END, ["content-type", "application/grpc"]),
    Code.Internal,
  ],
  ["headers with a status that is no number", (stream) => headers(stream, END, [":status", "abc"]), Code.Internal],
  [
    "headers with the status twice",
    (stream) => headers(stream, END, [":status", "200"], [":status", "200"]),
    Code.Internal,
  ],
  [
    "a message, and then no trailers",
    (stream) => {
      respond(stream);
      data(stream, MESSAGE, Flag.endStream);
    },
    Code.Internal,
  ],
  [
    "trailers without grpc-status",
    (stream) => {
      answer(stream);
      headers(stream, END, ["x-trailer", "y"]);
    },
    Code.Internal,
  ],
  [
    "trailers with grpc-status twice, of which both say success",
    (stream) => {
      answer(stream);
      headers(stream, END, ["grpc-status", "0"], ["grpc-status", "0"]);
    },
    Code.Unknown,
  ],
  [
    "trailers with grpc-status twice, of which one says failure",
    (stream) => {
      answer(stream);
      headers(stream, END, ["grpc-status", "0"], ["grpc-status", "13"]);
    },
    Code.Unknown,
  ],
  [
    "trailers with garbage beside the status",
    (stream) => {
      answer(stream);
      headers(
        stream,
        END,
        ["grpc-status", "0"],
        ["x-bin", "!!!"],
        ["grpc-message", "%zz\xff"],
        ["grpc-status-details-bin", "?"],
      );
    },
    "Ada",
  ],
  [
    "trailers with a failure, and details that cannot be decoded",
    (stream) => {
      answer(stream);
      headers(stream, END, ["grpc-status", "9"], ["grpc-status-details-bin", "AAAA////"]);
    },
    Code.FailedPrecondition,
  ],
  [
    "trailers with pseudo-headers",
    (stream) => {
      answer(stream);
      headers(stream, END, [":status", "200"], ["grpc-status", "0"]);
    },
    Code.Internal,
  ],
  [
    "trailers that do not end the stream",
    (stream) => {
      answer(stream);
      headers(stream, Flag.endHeaders, ["grpc-status", "0"]);
    },
    Code.Internal,
  ],
  [
    "trailers, and then a message more",
    (stream) => {
      greet(stream, "Ada");
      data(stream, MESSAGE);
    },
    "Ada",
  ],
  [
    "trailers twice",
    (stream) => {
      greet(stream, "Ada");
      headers(stream, END, ["grpc-status", "13"]);
    },
    "Ada",
  ],
  [
    "trailers, and a reset without an error",
    (stream) => {
      greet(stream, "Ada");
      reset(stream, 0);
    },
    "Ada",
  ],
  [
    "trailers, and a reset with an error",
    (stream) => {
      greet(stream, "Ada");
      reset(stream, 2);
    },
    "Ada",
  ],
  [
    "trailers, and the end of the connection",
    (stream) => {
      greet(stream, "Ada");
      stream.connection.socket.end();
    },
    "Ada",
  ],
  [
    "trailers, and a GOAWAY with an error",
    (stream) => {
      greet(stream, "Ada");
      goAway(stream, stream.id, 2);
    },
    "Ada",
  ],
  ["a reset without an error", (stream) => reset(stream, 0), Code.Internal],
  [
    "headers, and a reset without an error",
    (stream) => {
      respond(stream);
      reset(stream, 0);
    },
    Code.Internal,
  ],
  [
    "a message, and a reset without an error",
    (stream) => {
      answer(stream);
      reset(stream, 0);
    },
    Code.Internal,
  ],
  ["a reset that asks for HTTP/1.1", (stream) => reset(stream, 13), Code.Internal],
  ["a reset with the largest of all codes", (stream) => reset(stream, 0xffffffff), Code.Internal],
  [
    "a reset of a stream that is not open",
    ({ connection }) => connection.write(frame(Type.reset, 0, 99, words(8))),
    Code.Unavailable,
  ],
  ["a GOAWAY with the largest error code", (stream) => goAway(stream, stream.id, 0xffffffff), Code.Unavailable],
  [
    "a window update of nothing",
    ({ connection, id }) => connection.write(frame(Type.windowUpdate, 0, id, words(0))),
    Code.Internal,
  ],
  [
    "a window beyond all measure",
    ({ connection, id }) => connection.write(frame(Type.windowUpdate, 0, id, words(0x7fffffff))),
    Code.Unavailable,
  ],
  [
    "a window beyond all measure, for the connection",
    ({ connection }) => connection.write(frame(Type.windowUpdate, 0, 0, words(0x7fffffff))),
    Code.Unavailable,
  ],
  [
    "settings of no valid size",
    ({ connection }) => connection.write(frame(Type.settings, 0, 0, Buffer.alloc(5))),
    Code.Unavailable,
  ],
  [
    "settings with a window beyond all measure",
    ({ connection }) => connection.write(settings([INITIAL_WINDOW_SIZE, 0x80000000])),
    Code.Unavailable,
  ],
  ["the end of the connection", ({ connection }) => connection.socket.end(), Code.Unavailable],
  [
    "a frame that is larger than any may be",
    ({ connection }) => connection.write(Buffer.from([255, 255, 255, 0, 0, 0, 0, 0, 1])),
    Code.Unavailable,
  ],
];

describe("a server that sends", () => {
  it.each(ROWS)("%s", async (_, act, outcome) => {
    const server = await startRawServer((stream) => (server.streams.length === 1 ? act(stream) : greet(stream)));
    const client = connectGreeter(server.baseUrl, { pingTimeoutMs: 300 }, { timeoutMs: TIMEOUT_MS });
    if (typeof outcome === "string") expect((await client.greet({})).greeting).toBe(outcome);
    else {
      const { code, rawMessage } = await failureOf(client.greet({}));
      expect([code, rawMessage]).toEqual([outcome, expect.any(String)]);
    }
    // A connection that has ended accepts another call until the client has read its end, and then ends its side.
    const socket = server.connections[0]?.socket;
    if (socket?.writableEnded && !socket.closed) await once(socket, "close");
    expect((await client.greet({})).greeting).toBe("Hello!");
  });

  it.each<[name: string, then: (stream: RawStream) => unknown]>([
    ["nothing more", () => {}],
    ["a reset without an error", (stream) => reset(stream, 0)],
    ["a cancellation", (stream) => reset(stream, 8)],
  ])("its answer before the request has ended, and then %s", async (_, then) => {
    const server = await startRawServer((stream) => {
      greet(stream);
      then(stream);
    });
    const stopped = signalled();
    async function* requests(): AsyncGenerator<{ name: string }, void> {
      try {
        for (;;) {
          yield { name: "Ada" };
          await pause(1);
        }
      } finally {
        stopped.resolve();
      }
    }
    const client = connectGreeter(server.baseUrl, {}, { timeoutMs: TIMEOUT_MS });
    expect((await client.greetTogether(requests())).greeting).toBe("Hello!");
    await stopped.promise;
    expect(await greetings(client.greetOnArrival(requests()))).toEqual(["Hello!"]);
  });
});

describe("a server that allows no streams", () => {
  it("delays calls until it allows streams", async () => {
    const server = await startRawServer((stream) => greet(stream), settings([MAX_CONCURRENT_STREAMS, 0]));
    const client = connectGreeter(server.baseUrl, { maxConnections: 1 }, { timeoutMs: TIMEOUT_MS });
    const call = client.greet({});
    await expect.poll(() => server.connections.length).toBe(1);
    await pause(50);
    expect(server.streams).toHaveLength(0);
    server.connections[0]?.write(settings([MAX_CONCURRENT_STREAMS, 10]));
    expect((await call).greeting).toBe("Hello!");
  });

  it("lets calls wait until their deadline", async () => {
    const server = await startRawServer((stream) => greet(stream), settings([MAX_CONCURRENT_STREAMS, 0]));
    const client = connectGreeter(server.baseUrl, {}, { timeoutMs: 200 });
    const codes = await Promise.all(Array.from({ length: 5 }, async () => (await failureOf(client.greet({}))).code));
    expect(codes).toEqual(Array(5).fill(Code.DeadlineExceeded));
    expect(server.streams).toHaveLength(0);
  });

  it("any more, for a while, delays the calls in that time", async () => {
    const server = await startRawServer((stream) => greet(stream));
    const client = connectGreeter(server.baseUrl, { maxConnections: 1 }, { timeoutMs: TIMEOUT_MS });
    await client.greet({});
    const [connection] = server.connections;
    connection?.write(settings([MAX_CONCURRENT_STREAMS, 0]));
    await connection?.frame(Type.settings, 0);
    await expect
      .poll(() => connection?.received.filter(({ type, flags }) => type === Type.settings && flags === Flag.ack).length)
      .toBeGreaterThan(1);
    const call = client.greet({});
    await pause(50);
    expect(server.streams).toHaveLength(1);
    connection?.write(settings([MAX_CONCURRENT_STREAMS, 1]));
    expect((await call).greeting).toBe("Hello!");
  });
});

it("a frame too many on a stream that has ended leaves the other streams of the connection alone", async () => {
  const server = await startRawServer((stream) => {
    const [first] = server.streams;
    if (server.streams.length !== 2 || first === undefined) return;
    answer(first);
    headers(first, END, ["grpc-status", "0"]);
    data(first, Buffer.alloc(1));
    greet(stream);
  });
  const client = connectGreeter(server.baseUrl);
  const stop = signalled();
  async function* requests(): AsyncGenerator<{ name: string }, void> {
    yield { name: "Ada" };
    await stop.promise;
  }
  const first = client.greetTogether(requests());
  await expect.poll(() => server.streams.length).toBe(1);
  expect((await client.greet({}, { timeoutMs: TIMEOUT_MS })).greeting).toBe("Hello!");
  expect((await first).greeting).toBe("Ada");
  stop.resolve();
  expect(server.connections).toHaveLength(1);
});

it("spaces at the ends of a message are part of it, and those of metadata are not", async () => {
  const server = await startRawServer((stream) => {
    const fields: Fields = [
      [":status", "200"],
      ["content-type", "application/grpc"],
      ["x-padded", "\t a b "],
      ["x-blank", " "],
    ];
    headers(stream, Flag.endHeaders, ...fields);
    headers(stream, END, ["grpc-status", "5"], ["grpc-message", " no user: "], ["x-late", "1 "]);
  });
  const error = await failureOf(connectGreeter(server.baseUrl).greet({}));
  expect([error.code, error.rawMessage]).toEqual([Code.NotFound, " no user: "]);
  expect([error.headers.get("x-padded"), error.headers.get("x-blank"), error.trailers.get("x-late")]).toEqual([
    "a b",
    "",
    "1",
  ]);
});
