/** Calls that end early, over sockets: by a deadline, by the caller, or by a reader that stops. */
import { type CallOptions, Code, type RpcError, Status } from "triple-es";
import { describe, expect, it } from "vitest";
import { createGreetServiceClient } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { Http1Connection, Http2Connection } from "../../support/connection.ts";
import {
  block,
  Flag,
  frame,
  greet,
  type RawStream,
  Reset,
  respond,
  startRawServer,
  Type,
} from "../../support/frames.ts";
import { pause } from "../../support/pause.ts";
import {
  aborted,
  arriving,
  connectGreeter,
  failureOf,
  greetings,
  missDeadline,
  openTransport,
  signalled,
  startServer,
} from "../../support/server.ts";

const TRANSPORTS = [
  { protocol: "grpc", httpVersion: "2" },
  { protocol: "http-rpc", httpVersion: "1.1" },
  { protocol: "http-rpc", httpVersion: "2" },
] as const;

/** Requests without an end. */
async function* endless(): AsyncGenerator<{ name: string }, void> {
  for (;;) {
    yield { name: "Ada" };
    await pause(1);
  }
}

/** Requests, the first of which is sent when the promise settles. */
async function* noneBefore(promise: Promise<unknown>): AsyncGenerator<{ name: string }, void> {
  await promise;
  yield* arriving();
}

describe.each(TRANSPORTS)("a unary call over $protocol, HTTP/$httpVersion", (options) => {
  it("fails with deadline_exceeded when its time is up, and the handler's signal fires", async () => {
    const running = signalled();
    const reason = signalled<unknown>();
    const { baseUrl } = await startServer({
      greet: async (_, { signal }) => {
        running.resolve();
        reason.resolve(await aborted(signal));
        return {};
      },
    });
    const greeter = connectGreeter(baseUrl, options);
    await missDeadline(running.promise, (timeout) => failureOf(greeter.greet({}, timeout)));
    expect([Code.DeadlineExceeded, Code.Canceled]).toContain(((await reason.promise) as { code: Code }).code);
  });

  it("may share its signal with many others, which all fail with canceled, and of which Node does not warn", async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): unknown => warnings.push(warning);
    process.on("warning", onWarning);
    const running = signalled();
    let count = 0;
    const { baseUrl } = await startServer({
      greet: async (_, { signal }) => {
        count++;
        if (count === 20) running.resolve();
        throw await aborted(signal);
      },
    });
    const greeter = connectGreeter(baseUrl, options);
    const controller = new AbortController();
    const calls = Array.from({ length: 20 }, () => failureOf(greeter.greet({}, { signal: controller.signal })));
    await running.promise;
    controller.abort();
    expect((await Promise.all(calls)).map(({ code }) => code)).toEqual(Array(20).fill(Code.Canceled));
    process.off("warning", onWarning);
    expect(warnings).toEqual([]);
  });

  it("gives the handler the remaining time, and undefined without a deadline", async () => {
    const left = async (timeoutMs?: number): Promise<number | undefined> => {
      let seen: number | undefined;
      const running = await startServer({
        greet: (_, context) => {
          seen = context.timeoutMs();
          return {};
        },
      });
      await connectGreeter(running.baseUrl, options).greet({}, timeoutMs === undefined ? {} : { timeoutMs });
      return seen;
    };
    expect(await left()).toBeUndefined();
    const seen = await left(60_000);
    expect(seen).toBeGreaterThan(50_000);
    expect(seen).toBeLessThanOrEqual(60_000);
  });

  it("fails with canceled when the caller aborts it, and the handler's signal fires", async () => {
    const running = signalled();
    const reason = signalled<unknown>();
    const { baseUrl } = await startServer({
      greet: async (_, { signal }) => {
        running.resolve();
        reason.resolve(await aborted(signal));
        return {};
      },
    });
    const controller = new AbortController();
    const call = connectGreeter(baseUrl, options).greet({}, { signal: controller.signal });
    await running.promise;
    controller.abort();
    expect((await failureOf(call)).code).toBe(Code.Canceled);
    expect(((await reason.promise) as { code: Code }).code).toBe(Code.Canceled);
  });

  it("is not sent at all when its signal has fired before", async () => {
    let calls = 0;
    const { baseUrl } = await startServer({
      greet: () => {
        calls++;
        return {};
      },
    });
    const greeter = connectGreeter(baseUrl, options);
    expect((await failureOf(greeter.greet({}, { signal: AbortSignal.abort() }))).code).toBe(Code.Canceled);
    expect((await failureOf(greeter.greet({}, { timeoutMs: 0 }))).code).toBe(Code.DeadlineExceeded);
    await greeter.greet({});
    expect(calls).toBe(1);
  });

  it("leaves the connection in order when it ends early: the next call works", async () => {
    const { baseUrl } = await startServer({
      greet: async ({ name }, { signal }) => {
        if (name === "") await aborted(signal);
        return { greeting: name };
      },
    });
    const greeter = connectGreeter(baseUrl, options);
    await failureOf(greeter.greet({}, { timeoutMs: 20 }));
    expect((await greeter.greet({ name: "Ada" })).greeting).toBe("Ada");
  });

  it("does not fire the handler's signal on success, for any end of the connection", async () => {
    let signal: AbortSignal | undefined;
    const { baseUrl } = await startServer({
      greet: (_, context) => {
        signal = context.signal;
        return {};
      },
    });
    const transport = openTransport(baseUrl, options);
    await createGreetServiceClient(transport).greet({}, { timeoutMs: 60_000 });
    await transport.close();
    await pause(10);
    expect(signal?.aborted).toBe(false);
  });
});

describe("a unary call that is given up while its response is arriving", () => {
  /** A complete response, or one without its trailers, and the way in which its reader stops. */
  const RESPONSES: Readonly<Record<string, (stream: RawStream) => void>> = {
    "that is complete": (stream) => greet(stream, "x".repeat(1_000)),
    "that has begun": (stream) => respond(stream),
    "that lacks its trailers": (stream) => {
      respond(stream);
      stream.connection.write(frame(Type.data, 0, stream.id, Buffer.from([0, 0, 0, 0, 3, 0x0a, 1, 0x41])));
    },
  };

  it.each(Object.entries(RESPONSES))("%s leaves no stream open", async (name, answer) => {
    const server = await startRawServer((stream) => answer(stream));
    // The connection shows whether a stream is still open: if so, closing it takes the grace period.
    const transport = openTransport(server.baseUrl);
    const client = createGreetServiceClient(transport);
    const outcomes = new Set<Code | "answered">();
    // Cancels at once, and after the given number of turns, while the response arrives in small parts.
    for (let turns = 0; turns < 40; turns++) {
      const controller = new AbortController();
      const call = client.greet({}, { signal: controller.signal });
      const outcome = call.then(
        () => "answered" as const,
        ({ code }: RpcError) => code,
      );
      for (let turn = 0; turn < turns % 20; turn++) await new Promise(setImmediate);
      controller.abort();
      outcomes.add(await outcome);
    }
    expect(outcomes).toContain(Code.Canceled);
    // A stream that both sides have ended is not reset.
    for (const stream of name === "that is complete" ? [] : server.streams) {
      await stream.connection.frame(Type.reset, stream.id);
    }
    await transport.close({ graceMs: Number.POSITIVE_INFINITY });
  });
});

describe("a deadline on the server alone", () => {
  it("ends a call of sub-protocol A with status 31 and HTTP status 408, even if the handler continues", async () => {
    const { port } = await startServer({ greet: () => new Promise(() => {}) });
    const connection = await Http1Connection.open(port);
    const headers = { "content-type": "application/json", "tri-service-timeout": "20" };
    const { status, body } = await connection.post("/greet.v1.GreetService/Greet", headers, "[{}]");
    expect(status).toBe(408);
    expect(JSON.parse(body.toString())).toEqual({
      status: Status.ServerTimeout,
      message: "the deadline of 20 ms has passed",
      code: "deadline_exceeded",
    });
  });

  it.each(["Greet", "GreetEach"])("ends %s of sub-protocol B with grpc-status 4", async (method) => {
    const { baseUrl } = await startServer({
      greet: () => new Promise(() => {}),
      async *greetEach() {
        await new Promise(() => {});
      },
    });
    const headers = { "content-type": "application/grpc", "grpc-timeout": "20m" };
    const connection = new Http2Connection(baseUrl);
    const answer = await connection.post(`/greet.v1.GreetService/${method}`, headers, new Uint8Array(5));
    expect([answer.status, answer.headers["grpc-status"]]).toEqual([200, "4"]);
  });

  it("ends a stream that is under way", async () => {
    let hasBegun = false;
    const { baseUrl } = await startServer({
      async *greetEach(_, { signal }) {
        hasBegun = !signal.aborted;
        yield { greeting: "first" };
        await aborted(signal);
        throw signal.reason;
      },
    });
    const body = Buffer.concat([Uint8Array.of(0, 0, 0, 0, 2), Buffer.from("{}")]);
    const ask = (milliseconds: number): ReturnType<Http2Connection["post"]> => {
      const headers = { "content-type": "application/grpc+json", "grpc-timeout": `${milliseconds}m` };
      return new Http2Connection(baseUrl).post("/greet.v1.GreetService/GreetEach", headers, body);
    };
    let answer = await ask(50);
    for (let timeoutMs = 100; !hasBegun; timeoutMs *= 2) answer = await ask(timeoutMs);
    expect(answer.body.toString()).toContain("first");
    expect(answer.trailers["grpc-status"]).toBe("4");
  });
});

describe("a stream", () => {
  it("is cancelled when its reader stops: the handler's signal fires and its generator is closed", async () => {
    const reason = signalled<unknown>();
    const closed = signalled();
    const { baseUrl } = await startServer({
      async *greetEach(_, { signal }) {
        void aborted(signal).then(reason.resolve);
        try {
          for (;;) yield { greeting: "Hello!" };
        } finally {
          closed.resolve();
        }
      },
    });
    for await (const { greeting } of connectGreeter(baseUrl).greetEach({})) {
      expect(greeting).toBe("Hello!");
      break;
    }
    expect(((await reason.promise) as { code: Code }).code).toBe(Code.Canceled);
    await closed.promise;
  });

  it.each(["signal", "deadline"])("ends by the caller's %s in the middle, on both sides", async (means) => {
    const reason = signalled<unknown>();
    const closed = signalled();
    const { baseUrl } = await startServer({
      async *greetOnArrival(_, { signal }) {
        void aborted(signal).then(reason.resolve);
        try {
          yield { greeting: "Hello!" };
          await aborted(signal);
        } finally {
          closed.resolve();
        }
      },
    });
    const controller = new AbortController();
    const never = signalled();
    const begun = signalled();
    const greeter = connectGreeter(baseUrl);
    const received: string[] = [];
    const call = async (options: CallOptions): Promise<void> => {
      for await (const { greeting } of greeter.greetOnArrival(noneBefore(never.promise), options)) {
        received.push(greeting);
        begun.resolve();
        controller.abort();
      }
    };
    if (means === "signal") expect((await failureOf(call({ signal: controller.signal }))).code).toBe(Code.Canceled);
    else await missDeadline(begun.promise, (options) => failureOf(call(options)));
    expect(received).toEqual(["Hello!"]);
    await closed.promise;
    expect([Code.Canceled, Code.DeadlineExceeded]).toContain(((await reason.promise) as { code: Code }).code);
    never.resolve();
  });

  it("passes on no message after its caller has cancelled it, even if more have arrived", async () => {
    const message = Buffer.from([0, 0, 0, 0, 5, 0x0a, 3, 0x41, 0x64, 0x61]);
    const { baseUrl } = await startRawServer((stream) => {
      respond(stream);
      stream.connection.write(frame(Type.data, 0, stream.id, Buffer.concat([message, message, message])));
    });
    const controller = new AbortController();
    const received: string[] = [];
    const call = (async () => {
      const options = { signal: controller.signal, timeoutMs: 60_000 };
      for await (const { greeting } of connectGreeter(baseUrl).greetEach({}, options)) {
        if (received.push(greeting) === 2) controller.abort();
      }
    })();
    expect((await failureOf(call)).code).toBe(Code.Canceled);
    expect(received).toEqual(["Ada", "Ada"]);
  });

  it("is closed if it contains requests and its call ends early", async () => {
    const closed = signalled();
    const { baseUrl } = await startServer({
      greetTogether: async (requests) => {
        for await (const _ of requests) return { greeting: "enough" };
        return {};
      },
    });
    const requests = (async function* () {
      try {
        yield* endless();
      } finally {
        closed.resolve();
      }
    })();
    expect((await connectGreeter(baseUrl).greetTogether(requests)).greeting).toBe("enough");
    await closed.promise;
  });

  it("is cancelled if it contains requests and the response has ended, also without a reset by the server", async () => {
    // Servers of Dubbo for Java behave in this way.
    const { baseUrl, connections, streams } = await startRawServer(({ connection, id }) => {
      const end = block([":status", "200"], ["content-type", "application/grpc"], ["grpc-status", "12"]);
      connection.write(frame(Type.headers, Flag.endHeaders | Flag.endStream, id, end));
    });
    const never = (async function* (): AsyncGenerator<{ name: string }, void> {
      yield { name: "Ada" };
      await new Promise(() => {});
    })();
    const greeter = connectGreeter(baseUrl, {}, { timeoutMs: 60_000 });
    expect((await failureOf(greeter.greetTogether(never))).code).toBe(Code.Unimplemented);
    const { payload } = (await connections[0]?.frame(Type.reset, streams[0]?.id)) ?? {};
    expect(payload?.readUInt32BE()).toBe(Reset.cancel);
  });

  it("ends with an error in the handler if it contains requests and the caller cancels", async () => {
    const seen = signalled<unknown>();
    const running = signalled();
    const { baseUrl } = await startServer({
      greetTogether: async (requests) => {
        try {
          for await (const _ of requests) running.resolve();
        } catch (error) {
          seen.resolve(error);
          throw error;
        }
        seen.resolve("the requests ended as if they were complete");
        return {};
      },
    });
    const controller = new AbortController();
    const call = connectGreeter(baseUrl).greetTogether(endless(), { signal: controller.signal });
    await running.promise;
    controller.abort();
    expect((await failureOf(call)).code).toBe(Code.Canceled);
    expect(await seen.promise).toMatchObject({ code: Code.Canceled });
  });

  it("fails the call if its requests fail on the caller's side, and the handler receives an error", async () => {
    const seen = signalled<unknown>();
    // Node 22 does not open a stream for requests that fail at once.
    const running = signalled();
    const { baseUrl } = await startServer({
      greetTogether: async (requests) => {
        try {
          for await (const _ of requests) running.resolve();
          seen.resolve("complete");
        } catch (error) {
          seen.resolve(error);
        }
        return {};
      },
    });
    const broken = (async function* () {
      yield { name: "Ada" };
      await running.promise;
      throw new Error("no more names");
    })();
    const error = await failureOf(connectGreeter(baseUrl).greetTogether(broken));
    expect(error.message).toContain("no more names");
    expect(await seen.promise).toMatchObject({ code: Code.Canceled });
  });

  it.each(["signal", "deadline"])(
    "closes its generator if its first message is ready only after the %s has ended it",
    async (means) => {
      const running = signalled();
      const gate = signalled();
      const closed = signalled();
      const { baseUrl } = await startServer({
        async *greetEach() {
          try {
            running.resolve();
            // The handler ignores its signal.
            await gate.promise;
            for (;;) yield { greeting: "too late" };
          } finally {
            closed.resolve();
          }
        },
      });
      const greeter = connectGreeter(baseUrl);
      if (means === "signal") {
        const controller = new AbortController();
        const call = failureOf(greeter.greetEach({}, { signal: controller.signal }));
        await running.promise;
        controller.abort();
        await call;
      } else await missDeadline(running.promise, (options) => failureOf(greeter.greetEach({}, options)));
      await pause(20);
      gate.resolve();
      await closed.promise;
    },
  );

  it("leaves the connection usable if it responds early, without reading the remaining requests", async () => {
    const { baseUrl } = await startServer({
      async *greetOnArrival(requests) {
        for await (const { name } of requests) {
          yield { greeting: name };
          return;
        }
      },
    });
    const greeter = connectGreeter(baseUrl);
    expect(await greetings(greeter.greetOnArrival(endless()))).toEqual(["Ada"]);
    expect(await greetings(greeter.greetOnArrival(arriving("Bob")))).toEqual(["Bob"]);
  });
});
