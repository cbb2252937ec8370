/** The process of a codec: it encodes or decodes a message until the time has passed. */
import { answerParent } from "../../child.ts";
import { type Sample, samples } from "../../messages/samples.ts";
import type { Load, Tally } from "../load/load.ts";

/** A codec of the contest: it decodes bytes to its own representation of a message, and encodes that. */
export interface Codec<Message> {
  readonly encode: (message: Message) => Uint8Array;
  readonly decode: (bytes: Uint8Array) => Message;
}

/** Number of messages that are encoded or decoded between two readings of the clock. */
const BATCH = 64;

export function answerCodecs<Messages extends Record<Sample, object>>(
  codecs: {
    readonly [Name in keyof Messages]: Codec<Messages[Name]>;
  },
): void {
  answerParent({
    run: <Name extends Sample>({ method, part, seconds }: Run<Name>): Tally =>
      run(codecs[method], samples[method], part === "encode", seconds),
  });
}

interface Run<Name extends Sample> extends Pick<Load, "part"> {
  readonly method: Name;
  readonly seconds: number;
}

function run<Message>({ encode, decode }: Codec<Message>, bytes: Uint8Array, encodes: boolean, seconds: number): Tally {
  const message = decode(bytes);
  const isRight = Buffer.compare(encode(message), bytes) === 0;
  const start = performance.now();
  const until = start + seconds * 1000;
  let calls = 0;
  let size = 0;
  while (performance.now() < until) {
    for (let index = 0; index < BATCH; index++) {
      if (encodes) size += encode(message).length;
      else decode(bytes);
    }
    calls += BATCH;
  }
  const elapsed = performance.now() - start;
  const errors = isRight && (!encodes || size === calls * bytes.length) ? 0 : calls;
  const eachMs = elapsed / calls;
  return { calls, messages: calls, errors, seconds: elapsed / 1000, p50Ms: eachMs, p99Ms: eachMs };
}
