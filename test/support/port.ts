/**
 * Free ports, for programs that cannot report theirs and for addresses on which nothing listens. They are below the ports
 * that the system gives to outgoing connections and to servers on port 0, because other tests open many of these meanwhile.
 */
import type { ChildProcess } from "node:child_process";
import { connect, createServer } from "node:net";
import { pause } from "./pause.ts";

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

/** Waits until a process listens on a port. */
export async function listening(child: ChildProcess, port: number): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${child.spawnargs.join(" ")} has ended`);
    if (await isListening(port, "localhost")) return;
    await pause(50);
  }
}

/** Reports whether a connection to a port of this machine is accepted. */
export async function isListening(port: number, host: string): Promise<boolean> {
  const socket = connect(port, host);
  const isAccepted = await new Promise<boolean>((resolve) => {
    socket.on("connect", () => resolve(true));
    socket.on("error", () => resolve(false));
  });
  socket.destroy();
  return isAccepted;
}
