/** Servers that are replaced one after the other behind a constant address: no call is lost, and none is made twice. */
import { connect } from "node:net";
import { expect, it } from "vitest";
import { pause } from "../../support/pause.ts";
import { connectGreeter, greetings, type RunningServer, startPeer, startServer } from "../../support/server.ts";

/** Number of servers that start and stop. */
const ROTATIONS = 20;
const CALLERS = 20;

it("a server that is replaced under load loses no call, and handles none twice", async () => {
  const handled = new Map<string, number>();
  const count = (name: string): void => void handled.set(name, (handled.get(name) ?? 0) + 1);
  const start = (): Promise<RunningServer> =>
    startServer({
      greet: async ({ name }) => {
        count(name);
        await pause(Math.random() * 5);
        return { greeting: name };
      },
      async *greetEach({ names: [name = ""] }) {
        count(name);
        for (let i = 0; i < 3; i++) {
          yield { greeting: `${name} ${i}` };
          await new Promise((resolve) => setImmediate(resolve));
        }
      },
    });
  let current = await start();
  // A proxy as in front of production servers: new connections go to the newest server.
  const port = await startPeer((socket) => {
    const target = connect({ port: current.port, host: "127.0.0.1", noDelay: true });
    target.on("error", () => socket.destroy());
    socket.on("close", () => target.destroy());
    // Data that a client still sends is read and dropped: a reset would discard the data that the client has not read
    // yet.
    target.on("close", () => socket.unpipe(target).resume());
    socket.pipe(target).pipe(socket);
  });
  const client = connectGreeter(`http://127.0.0.1:${port}`);
  let made = 0;
  let rotating = true;
  const callers = Array.from({ length: CALLERS }, async () => {
    while (rotating) {
      const name = `call ${made++}`;
      if (made % 2 === 0) expect((await client.greet({ name })).greeting).toBe(name);
      else expect(await greetings(client.greetEach({ names: [name] }))).toEqual([0, 1, 2].map((i) => `${name} ${i}`));
    }
  });
  for (let i = 0; i < ROTATIONS; i++) {
    await pause(30);
    const { server } = current;
    current = await start();
    await server.close();
  }
  rotating = false;
  await Promise.all(callers);
  expect(made).toBeGreaterThan(ROTATIONS);
  expect([...handled.values()].filter((times) => times !== 1)).toEqual([]);
  expect(handled.size).toBe(made);
});
