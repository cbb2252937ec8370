/** A well-behaved client of another server, beside a client that is attacked by its server. */
import { expect } from "vitest";
import type { Certificates } from "../../support/certificate.ts";
import { connectGreeter, startServer } from "../../support/server.ts";

/** Runs an attack. The neighbour makes calls during and after it, which must all succeed. */
export async function besideNeighbour(
  certificates: Certificates | undefined,
  attack: () => Promise<unknown>,
): Promise<void> {
  const { baseUrl } = await startServer({}, { tls: certificates?.server });
  const neighbour = connectGreeter(baseUrl, { tls: certificates && { ca: certificates.ca } }, { timeoutMs: 60_000 });
  const behave = async (): Promise<void> => {
    expect((await neighbour.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
  };
  await behave();
  let isOver = false;
  const attacking = attack().finally(() => {
    isOver = true;
  });
  const behaving = (async () => {
    while (!isOver) {
      await behave();
      await new Promise(setImmediate);
    }
  })();
  await Promise.all([attacking, behaving]);
  await behave();
}
