/** The process of a codec: it encodes and decodes one message until the time has passed. */
import { answerParent } from "../../child.ts";
import { echoProto } from "../../messages/echo.ts";
import { orderProto } from "../../messages/order.ts";
import type { Load, Tally } from "../load/load.ts";

/** A codec of the contest: it encodes its own representation of a message, and decodes bytes. */
export interface Codec<Message> {
  readonly message: Message;
  readonly encode: (message: Message) => Uint8Array;
  readonly decode: (bytes: Uint8Array) => Message;
}

/** Number of messages that are encoded and decoded between two readings of the clock. */
const BATCH = 64;

export function answerCodec<Echo, Order>(echo: Codec<Echo>, order: Codec<Order>): void {
  answerParent({
    run({ method, seconds }: { readonly method: Load["method"]; readonly seconds: number }): Tally {
      return method === "order" ? run(order, orderProto, seconds) : run(echo, echoProto, seconds);
    },
  });
}

function run<Message>({ message, encode, decode }: Codec<Message>, bytes: Uint8Array, seconds: number): Tally {
  const isRight = Buffer.compare(encode(decode(bytes)), bytes) === 0 && Buffer.compare(encode(message), bytes) === 0;
  const start = performance.now();
  const until = start + seconds * 1000;
  let calls = 0;
  let size = 0;
  while (performance.now() < until) {
    for (let index = 0; index < BATCH; index++) {
      size += encode(message).length;
      decode(bytes);
    }
    calls += BATCH;
  }
  const elapsed = performance.now() - start;
  const errors = isRight && size === calls * bytes.length ? 0 : calls;
  const eachMs = elapsed / calls;
  return { calls, messages: calls, errors, seconds: elapsed / 1000, p50Ms: eachMs, p99Ms: eachMs };
}
