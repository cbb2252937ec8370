/**
 * The limit on running handlers of one connection: each handler counts until it has ended, whatever the state of its call.
 */
import { describe, expect, it } from "vitest";
import type { GreetServiceHandler } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { envelope } from "../../support/connection.ts";
import { block, Flag, frame, RawConnection, Reset, request, Type, words } from "../../support/frames.ts";
import { pause } from "../../support/pause.ts";
import { aborted, signalled, startServer } from "../../support/server.ts";

const SHORT: [string, string] = ["grpc-timeout", "20m"];
const EMPTY_MESSAGE = envelope("");
const JSON_FIELDS: [string, string][] = [
  [":method", "POST"],
  [":scheme", "http"],
  [":path", "/greet.v1.GreetService/Greet"],
  [":authority", "127.0.0.1"],
  ["content-type", "application/json"],
];

/** Handlers that run until the gate opens. */
function stubborn(gate: Promise<void>, begin: () => void): Partial<GreetServiceHandler> {
  const wait = async (): Promise<{ greeting: string }> => {
    begin();
    await gate;
    return { greeting: "" };
  };
  return {
    greet: ({ name }) => (name === "quick" ? {} : wait()),
    async *greetEach({ names: [first] }, { signal }) {
      begin();
      try {
        if (first === "message") {
          yield {};
          await aborted(signal);
        } else if (first === "flood") {
          for (;;) yield { greeting: "x".repeat(1024 * 1024) };
        } else await gate;
      } finally {
        await gate;
      }
    },
    greetTogether: wait,
    greetOnArrival: () => ({
      [Symbol.asyncIterator]: () => ({ next: () => wait().then(() => ({ done: true, value: undefined })) }),
    }),
  };
}

/** A whole call, whose message is empty or has a string in its first field. */
function call(stream: number, method: string, name = "", ...fields: [string, string][]): Buffer {
  const message =
    name === "" ? EMPTY_MESSAGE : envelope(Buffer.concat([Buffer.from([0x0a, name.length]), Buffer.from(name)]));
  return Buffer.concat([
    frame(Type.headers, Flag.endHeaders, stream, request(method, ...fields)),
    frame(Type.data, Flag.endStream, stream, message),
  ]);
}

/** Reports whether the server starts a handler on the stream. */
async function admitted(connection: RawConnection, stream: number): Promise<boolean> {
  connection.write(call(stream, "Greet", "quick"));
  const answer = await Promise.race([connection.frame(Type.headers, stream), connection.frame(Type.reset, stream)]);
  if (answer.type === Type.reset) expect(answer.payload).toEqual(words(Reset.refused));
  return answer.type === Type.headers;
}

async function expectAdmission(connection: RawConnection, firstStream: number): Promise<void> {
  let stream = firstStream;
  await expect
    .poll(async () => {
      const isAdmitted = await admitted(connection, stream);
      stream += 2;
      return isAdmitted;
    })
    .toBe(true);
}

const cancel = (connection: RawConnection, stream: number): unknown =>
  connection.write(frame(Type.reset, 0, stream, words(Reset.cancel)));

describe("a handler counts until it has ended, even if", () => {
  it.each<[name: string, begin: Buffer, leave: (connection: RawConnection) => unknown]>([
    ["the deadline of its unary call has passed", call(1, "Greet", "", SHORT), (it) => it.frame(Type.headers, 1)],
    [
      "the deadline of its unary call over A has passed",
      Buffer.concat([
        frame(Type.headers, Flag.endHeaders, 1, block(...JSON_FIELDS, ["tri-service-timeout", "20"])),
        frame(Type.data, Flag.endStream, 1, Buffer.from("[{}]")),
      ]),
      (it) => it.frame(Type.headers, 1),
    ],
    ["the deadline of its stream has passed", call(1, "GreetEach", "", SHORT), (it) => it.frame(Type.headers, 1)],
    [
      "the deadline of its stream has passed after a message",
      call(1, "GreetEach", "message", SHORT),
      (it) => it.frame(Type.headers, 1),
    ],
    [
      "the deadline of its client's stream has passed",
      call(1, "GreetTogether", "", SHORT),
      (it) => it.frame(Type.headers, 1),
    ],
    [
      "the deadline of its iterator has passed",
      call(1, "GreetOnArrival", "", SHORT),
      (it) => it.frame(Type.headers, 1),
    ],
    ["its unary call was cancelled", call(1, "Greet"), (it) => cancel(it, 1)],
    ["its stream was cancelled", call(1, "GreetEach"), (it) => cancel(it, 1)],
    [
      "its stream was cancelled after a message",
      call(1, "GreetEach", "message"),
      async (it) => {
        await it.frame(Type.data, 1);
        cancel(it, 1);
      },
    ],
    [
      "its stream was cancelled while it waited for its reader",
      call(1, "GreetEach", "flood"),
      async (it) => {
        await it.frame(Type.data, 1);
        cancel(it, 1);
      },
    ],
  ])("%s", async (_, begin, leave) => {
    const gate = signalled();
    const begun = signalled();
    const { port } = await startServer(stubborn(gate.promise, begun.resolve), { limits: { maxHandlers: 1 } });
    const connection = await RawConnection.open(port);
    connection.write(begin);
    await begun.promise;
    await leave(connection);
    // Without the gate, the calls would have ended by now.
    await pause(60);
    expect(await admitted(connection, 3)).toBe(false);
    gate.resolve();
    await expectAdmission(connection, 5);
  });
});

it("a handler that observes its signal frees its slot as soon as its deadline has passed", async () => {
  const { port } = await startServer(
    {
      greet: ({ name }, { signal }) =>
        name === "quick"
          ? {}
          : new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true })),
    },
    { limits: { maxHandlers: 1 } },
  );
  const connection = await RawConnection.open(port);
  connection.write(call(1, "Greet", "", SHORT));
  await connection.frame(Type.headers, 1);
  await expectAdmission(connection, 3);
});
