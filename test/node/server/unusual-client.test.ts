/**
 * Clients that use HTTP/2 in unusual or forbidden ways, frame by frame: each gets a response, a reset or the end of its
 * connection, no handler continues for it, and the next call is answered.
 */
import { Code } from "triple-es";
import { expect, it } from "vitest";
import type { GreetServiceHandler } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { block, Flag, frame, RawConnection, Reset, request, settings, Type, words } from "../../support/frames.ts";
import { pause } from "../../support/pause.ts";
import { aborted, connectGreeter, signalled, startServer } from "../../support/server.ts";

const INITIAL_WINDOW_SIZE = 4;
const END = Flag.endHeaders | Flag.endStream;
const MESSAGE = Buffer.from([0, 0, 0, 0, 5, 0x0a, 3, 0x41, 0x64, 0x61]);
const STREAM = 1;

type Fields = [name: string, value: string][];
/** The header fields of a request without the given names. */
function fieldsWithout(...names: string[]): Fields {
  const all: Fields = [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", "/greet.v1.GreetService/Greet"],
    [":authority", "127.0.0.1"],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
  ];
  return all.filter(([name]) => !names.includes(name));
}
const head = (fields: Fields, flags: number = Flag.endHeaders, stream = STREAM): Buffer =>
  frame(Type.headers, flags, stream, block(...fields));
const call = (method = "Greet"): Buffer => frame(Type.headers, Flag.endHeaders, STREAM, request(method));
const message = (flags: number = Flag.endStream, stream = STREAM): Buffer => frame(Type.data, flags, stream, MESSAGE);
const trailers = (...fields: Fields): Buffer => head(fields, END);

/**
 * The outcome of the stream: a response with a body, trailers-only, a reset with the given code, or the end of the
 * connection.
 */
type Outcome = "answered" | "refused" | "disconnected" | number;

it.each<[name: string, frames: Uint8Array[], outcome: Outcome]>([
  ["sends a message and trailers", [call(), message(0), trailers(["x-trailer", "y"])], "answered"],
  ["sends no message", [frame(Type.headers, END, STREAM, request())], "refused"],
  ["sends half a message", [call(), frame(Type.data, Flag.endStream, STREAM, MESSAGE.subarray(0, 7))], "refused"],
  ["sends trailers that do not end the stream", [call(), message(0), head([["x-trailer", "y"]])], Reset.protocol],
  ["sends pseudo-headers in trailers", [call(), message(0), trailers([":path", "/"])], Reset.protocol],
  ["names no path", [head(fieldsWithout(":path")), message()], Reset.protocol],
  ["names no method", [head(fieldsWithout(":method")), message()], Reset.protocol],
  ["names no scheme", [head(fieldsWithout(":scheme")), message()], Reset.protocol],
  ["names no authority", [head(fieldsWithout(":authority")), message()], "answered"],
  ["names no content type", [head(fieldsWithout("content-type")), message()], "answered"],
  ["names the path twice", [head([...fieldsWithout(), [":path", "/"]]), message()], Reset.protocol],
  ["names a pseudo-header of its own", [head([[":secret", "x"], ...fieldsWithout()]), message()], Reset.protocol],
  ["names a field in capitals", [head([...fieldsWithout(), ["X-Shout", "y"]]), message()], Reset.protocol],
  [
    "asks to close the connection by a field",
    [head([...fieldsWithout(), ["connection", "close"]]), message()],
    Reset.protocol,
  ],
  ["announces more than it sends", [head([...fieldsWithout(), ["content-length", "11"]]), message()], Reset.protocol],
  ["announces less than it sends", [head([...fieldsWithout(), ["content-length", "9"]]), message()], Reset.protocol],
  [
    "asks for a tunnel",
    [
      head([
        [":method", "CONNECT"],
        [":authority", "127.0.0.1:1"],
      ]),
    ],
    "answered",
  ],
  [
    "asks for a protocol by CONNECT",
    [head([...fieldsWithout(":method"), [":method", "CONNECT"], [":protocol", "websocket"]])],
    Reset.protocol,
  ],
  ["waits for 100-continue", [head([...fieldsWithout(), ["expect", "100-continue"]]), message()], "answered"],
  ["opens a stream of the server's", [frame(Type.headers, Flag.endHeaders, 2, request())], "disconnected"],
  ["sends data on a stream that is not open", [frame(Type.data, 0, 9, MESSAGE)], "disconnected"],
  ["resets a stream that is not open", [frame(Type.reset, 0, 9, words(Reset.cancel))], "disconnected"],
  [
    "makes a promise to push",
    [frame(Type.pushPromise, Flag.endHeaders, STREAM, Buffer.concat([words(2), request()]))],
    "disconnected",
  ],
  [
    "acknowledges settings that were not sent",
    [frame(Type.settings, Flag.ack, 0), frame(Type.settings, Flag.ack, 0), call(), message()],
    "answered",
  ],
  [
    "opens a window that is closed already",
    [call(), message(), frame(Type.windowUpdate, 0, STREAM, words(1))],
    "answered",
  ],
  ["sends GOAWAY and waits for its answer", [call(), message(), frame(Type.goaway, 0, 0, words(0, 0))], "answered"],
  ["sends frames of no known type in between", [call(), frame(0xbe, 0xff, STREAM, MESSAGE), message()], "answered"],
  [
    "pads everything",
    [
      call(),
      frame(
        Type.data,
        Flag.padded | Flag.endStream,
        STREAM,
        Buffer.concat([Buffer.from([9]), MESSAGE, Buffer.alloc(9)]),
      ),
    ],
    "answered",
  ],
  [
    "cancels with an unknown code",
    [
      call("GreetTogether"),
      message(0),
      frame(Type.reset, 0, STREAM, words(0xdeadbeef)),
      frame(Type.headers, END, 3, request()),
    ],
    "refused",
  ],
  [
    "cancels without an error",
    [call("GreetTogether"), message(0), frame(Type.reset, 0, STREAM, words(0)), frame(Type.headers, END, 3, request())],
    "refused",
  ],
])("a client that %s", async (_, frames, outcome) => {
  let running = 0;
  const handler: Partial<GreetServiceHandler> = {
    greetTogether: async (requests, { signal }) => {
      running++;
      try {
        for await (const __ of requests);
        throw await aborted(signal);
      } finally {
        running--;
      }
    },
  };
  // Short, because Node 20 sends GOAWAY to some of them and continues without reading; only this timeout ends them.
  const { port, baseUrl } = await startServer(handler, { limits: { headersTimeoutMs: 300, stallTimeoutMs: 300 } });
  const connection = await RawConnection.open(port);
  connection.write(...frames);
  const has = (type: number): boolean => connection.received.some((one) => one.type === type && one.stream !== 0);
  const seen = async (): Promise<Outcome | undefined> => {
    const reset = connection.received.find((one) => one.type === Type.reset);
    if (has(Type.data)) return "answered";
    if (has(Type.headers)) return "refused";
    if (reset !== undefined) return reset.payload.readUInt32BE(0);
    return connection.closed ? "disconnected" : undefined;
  };
  await expect.poll(seen).toBe(outcome);
  await expect.poll(() => running).toBe(0);
  expect((await connectGreeter(baseUrl).greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
});

it("a client that shrinks its window below the data in flight receives the rest when it opens the window", async () => {
  const { port } = await startServer({ greet: () => ({ greeting: "x".repeat(50_000) }) });
  const connection = await RawConnection.open(port, settings([INITIAL_WINDOW_SIZE, 20_000]));
  connection.write(call(), message());
  const received = (): number =>
    connection.received.reduce((sum, { type, payload }) => sum + (type === Type.data ? payload.byteLength : 0), 0);
  await expect.poll(received).toBe(20_000);
  connection.write(settings([INITIAL_WINDOW_SIZE, 0]));
  connection.write(frame(Type.windowUpdate, 0, STREAM, words(20_000)));
  await pause(50);
  expect(received()).toBe(20_000);
  connection.write(frame(Type.windowUpdate, 0, STREAM, words(40_000)));
  await expect.poll(received).toBeGreaterThan(50_000);
});

it("a half-close by the client fires the signal of its running handler", async () => {
  let reason: unknown;
  const { port } = await startServer({
    greet: async (_, { signal }) => {
      reason = await aborted(signal);
      return {};
    },
  });
  const connection = await RawConnection.open(port);
  connection.write(call(), message());
  connection.socket.end();
  await expect.poll(() => reason).toMatchObject({ message: expect.stringContaining("canceled") });
  await connection.end();
});

it.each([Reset.none, Reset.cancel])(
  "a reset with code %i in the middle of a request does not count as its end",
  async (code) => {
    const failure = signalled<unknown>();
    const handled: string[] = [];
    const { port } = await startServer({
      greet: () => {
        handled.push("unary");
        return {};
      },
      greetTogether: async (requests) => {
        try {
          for await (const { name } of requests) handled.push(name);
          handled.push("the end");
        } catch (reason) {
          failure.resolve(reason);
        }
        return {};
      },
    });
    const connection = await RawConnection.open(port);
    connection.write(call("GreetTogether"), message(0));
    connection.write(head(fieldsWithout(), Flag.endHeaders, STREAM + 2), message(0, STREAM + 2));
    await expect.poll(() => handled).toEqual(["Ada"]);
    for (const stream of [STREAM, STREAM + 2]) connection.write(frame(Type.reset, 0, stream, words(code)));
    expect(await failure.promise).toMatchObject({ code: Code.Canceled });
    expect(handled).toEqual(["Ada"]);
  },
);
