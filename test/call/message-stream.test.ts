/** Streams of messages that layers take from, or wait for. */
import { describe, expect, it } from "vitest";
import { MessageStream } from "../../runtime/src/call/message-stream.ts";

/** A stream of numbered messages. Some have been received; each further one is received when it is released. */
class Numbers extends MessageStream {
  received: object[];
  isLeft = false;
  readonly #release: (() => void)[] = [];

  constructor(received: number) {
    super();
    this.received = Array.from({ length: received }, (_, number) => ({ number }));
  }

  release(): void {
    this.#release.shift()?.();
  }

  protected ready(): object | undefined {
    return this.received.shift();
  }

  protected async wait(): Promise<IteratorResult<object, undefined>> {
    await new Promise<void>((resolve) => this.#release.push(resolve));
    this.waited();
    const value = this.received.shift();
    return value === undefined ? { done: true, value: undefined } : { done: false, value };
  }

  protected leave(): void {
    this.isLeft = true;
  }
}

describe("a stream of messages", () => {
  it("hands out received messages with take and next, in order", async () => {
    const stream = new Numbers(3);
    expect(stream.take()).toEqual({ number: 0 });
    expect(await stream.next()).toEqual({ done: false, value: { number: 1 } });
    expect(stream.take()).toEqual({ number: 2 });
    expect(stream.take()).toBeUndefined();
  });

  it("answers concurrent calls of next in order, and lets take pass none of them", async () => {
    const stream = new Numbers(0);
    const results = [stream.next(), stream.next(), stream.next()];
    stream.received.push({ number: 0 }, { number: 1 });
    expect(stream.take()).toBeUndefined();
    stream.release();
    expect(await Promise.all(results.slice(0, 2))).toEqual([
      { done: false, value: { number: 0 } },
      { done: false, value: { number: 1 } },
    ]);
    await new Promise(setImmediate);
    stream.release();
    expect(await results[2]).toEqual({ done: true, value: undefined });
    stream.received.push({ number: 2 });
    expect(stream.take()).toEqual({ number: 2 });
  });

  it("answers the calls after one that fails", async () => {
    class Failing extends Numbers {
      #calls = 0;
      protected override async wait(): Promise<IteratorResult<object, undefined>> {
        this.#calls++;
        this.waited();
        if (this.#calls === 1) throw new Error("once");
        return { done: true, value: undefined };
      }
    }
    const stream = new Failing(0);
    const results = [stream.next(), stream.next()];
    await expect(results[0]).rejects.toThrow("once");
    expect(await results[1]).toEqual({ done: true, value: undefined });
  });

  it("is left by a loop that ends early", async () => {
    const stream = new Numbers(2);
    for await (const message of stream) {
      expect(message).toEqual({ number: 0 });
      break;
    }
    expect(stream.isLeft).toBe(true);
  });
});
