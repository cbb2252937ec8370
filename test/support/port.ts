/**
 * Free ports, for programs that cannot report theirs and for addresses on which nothing listens. They are below the ports
 * that the system gives to outgoing connections and to servers on port 0, because other tests open many of these meanwhile.
 */
import { createServer } from "node:net";

/** Above the ports that `fetch` refuses, such as 10080. */
const FIRST_PORT = 11_000;
/** Below the ephemeral ports of Linux, from 32768, also for Nacos, which listens on 1,001 ports further too. */
const LAST_PORT = 30_000;

/** Ports that this process has given out. */
const given = new Set<number>();

/** Returns a port on which no server listens. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT + 1 - FIRST_PORT));
    if (given.has(port)) continue;
    given.add(port);
    const isFree = await new Promise<boolean>((resolve) => {
      const server = createServer().once("error", () => resolve(false));
      server.listen(port, () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}
