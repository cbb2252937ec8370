/** The page of the test: the calls that every platform can make, by name, and streams that the test reads step by step. */
import { RpcError } from "triple-es";
import { createTransport } from "triple-es/proto";
import { createGreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import { calls } from "../platforms/calls.ts";

let messages: AsyncIterator<{ greeting: string }> | undefined;

/** The page has one stream at a time. */
const stream = {
  open(baseUrl: string, name: string, timeoutMs?: number): void {
    const greeter = createGreetServiceClient(createTransport({ baseUrl }));
    messages = greeter.greetEach({ names: [name] }, { timeoutMs })[Symbol.asyncIterator]();
  },

  /**
   * Reads the given number of messages, or up to the end or the error of the stream. Returns that end and the number of
   * messages.
   */
  async read(count: number): Promise<{ read: number; end?: string }> {
    let read = 0;
    try {
      while (read < count) {
        if ((await messages?.next())?.done !== false) return { read, end: "done" };
        read += 1;
      }
      return { read };
    } catch (error) {
      return { read, end: error instanceof RpcError ? error.message : `unexpected: ${error}` };
    }
  },

  async leave(): Promise<void> {
    await messages?.return?.();
  },
};

export type StreamOfPage = typeof stream;

Object.assign(globalThis, { calls, stream });
