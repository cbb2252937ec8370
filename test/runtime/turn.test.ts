import { expect, it } from "vitest";
import { streamBody } from "../../runtime/src/exchange.ts";
import { encodeEnvelope, readEnvelopes } from "../../runtime/src/grpc/envelope.ts";
import { chunked, joined } from "../support/greeter.ts";

const PIECES_PER_TURN = 2_048;

it("messages that come at once, on several streams, leave the event loop its turns", async () => {
  let turns = 0;
  let done = false;
  const spin = (): void => {
    turns++;
    if (!done) setImmediate(spin);
  };
  spin();
  const many = joined(...Array<Uint8Array>(10_000).fill(encodeEnvelope(new Uint8Array())));
  const read = async (): Promise<number> => {
    let messages = 0;
    for await (const _ of readEnvelopes(streamBody(chunked([many])), 0)) messages++;
    return messages;
  };
  expect(await Promise.all([read(), read(), read()])).toEqual([10_000, 10_000, 10_000]);
  done = true;
  expect(turns).toBeGreaterThanOrEqual(Math.floor(30_000 / PIECES_PER_TURN));
});
