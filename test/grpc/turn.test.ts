import { expect, it } from "vitest";
import { encodeEnvelope } from "../../runtime/src/grpc/envelope.ts";
import { grpcRequest, joined, routeGreeter, textOf } from "../support/greeter.ts";

const PIECES_PER_TURN = 2_048;

it("messages that arrive at once on several streams do not block the event loop", async () => {
  let turns = 0;
  let done = false;
  const spin = (): void => {
    turns++;
    if (!done) setImmediate(spin);
  };
  spin();
  const { exchange } = routeGreeter({
    greetTogether: async (requests) => {
      let messages = 0;
      for await (const _ of requests) messages++;
      return { greeting: String(messages) };
    },
  });
  const many = joined(...Array<Uint8Array>(10_000).fill(encodeEnvelope(new Uint8Array())));
  const count = async (): Promise<string> =>
    textOf(await exchange(grpcRequest({ path: "/greet.v1.GreetService/GreetTogether", body: [many] })));
  const counts = await Promise.all([count(), count(), count()]);
  for (const one of counts) expect(one).toContain("10000");
  done = true;
  expect(turns).toBeGreaterThanOrEqual(Math.floor(30_000 / PIECES_PER_TURN));
});
