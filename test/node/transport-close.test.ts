/** Closing a transport: it settles when the last call is over, whoever began to end the connection. */
import { expect, it } from "vitest";
import { createGreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import { connectGreeter, openTransport, signalled, startServer } from "../support/server.ts";

it("waits for the calls of a connection that the server is closing already", async () => {
  const [begun, finish] = [signalled(), signalled()];
  const { server, baseUrl } = await startServer({
    async greet({ name }) {
      begun.resolve();
      await finish.promise;
      return { greeting: `Hello, ${name}!` };
    },
  });
  const transport = openTransport(baseUrl);
  const call = createGreetServiceClient(transport).greet({ name: "Ada" });
  await begun.promise;
  const serverClosed = server.close();
  // A connection that was refused proves that the server has begun to close, and time for its GOAWAY has passed.
  await expect(connectGreeter(baseUrl).greet({ name: "late" })).rejects.toThrow();
  const closed = transport.close();
  finish.resolve();
  expect((await call).greeting).toBe("Hello, Ada!");
  await closed;
  await serverClosed;
});
