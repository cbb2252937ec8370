/**
 * The order of events of sockets: the same script runs on real sockets of the loopback interface and on simulated ones, and
 * must see the same events. A simulated socket that is kinder than a real one proves nothing.
 */
import * as net from "node:net";
import { describe, expect, test } from "vitest";
import { Network } from "./network.ts";
import { Trace } from "./trace.ts";
import { World } from "./world.ts";

/** The functions of `node:net` that a script uses, and waits that fit the world. */
interface Platform {
  readonly connect: (port: number) => net.Socket;
  readonly listen: (onConnection: (socket: net.Socket) => void) => Promise<{ readonly port: number; close(): void }>;
  /** Waits until nothing happens any more. */
  readonly quiet: () => Promise<void>;
}

interface Pair {
  readonly client: net.Socket;
  readonly server: net.Socket;
  /** The events, in the order of each side. */
  readonly events: { readonly client: string[]; readonly server: string[] };
  readonly quiet: () => Promise<void>;
}

type Script = (pair: Pair) => Promise<void>;

const SCRIPTS: Readonly<Record<string, Script>> = {
  "the client ends after its data, and both sides read": async ({ client, server, events, quiet }) => {
    read(client);
    read(server);
    client.end("data", () => events.client.push("end callback"));
    await quiet();
  },
  "the peer ends, and this side does not read": async ({ client, server, quiet }) => {
    client.pause();
    server.end();
    await quiet();
  },
  "the peer resets, and this side reads": async ({ client, server, quiet }) => {
    read(client);
    server.resetAndDestroy();
    await quiet();
  },
  "the peer resets, and this side is paused": async ({ client, server, quiet }) => {
    client.pause();
    server.resetAndDestroy();
    await quiet();
  },
  "a small write": async ({ client, server, events, quiet }) => {
    read(server);
    const isFree = client.write("few", () => events.client.push("written"));
    events.client.push(`write ${isFree}, ${client.writableLength} bytes left`);
    await quiet();
  },
  "three corked writes": async ({ client, server, events, quiet }) => {
    read(server);
    client.cork();
    for (const text of ["a", "b", "c"]) client.write(text);
    client.uncork();
    events.client.push(`${client.writableLength} bytes left`);
    await quiet();
  },
  "a write that is larger than all buffers, to a peer that does not read": async ({
    client,
    server,
    events,
    quiet,
  }) => {
    server.pause();
    const isFree = client.write(Buffer.alloc(32 * 1024 * 1024), () => events.client.push("written"));
    events.client.push(`write ${isFree}, ${client.writableLength > 0}`);
    await quiet();
    server.on("data", () => {}).resume();
    await quiet();
  },
  "a socket is destroyed with an error while a write waits": async ({ client, server, events, quiet }) => {
    server.pause();
    client.write(Buffer.alloc(32 * 1024 * 1024), (error) =>
      events.client.push(`written ${error ? "with an error" : ""}`),
    );
    await quiet();
    client.destroy(new Error("enough"));
    await quiet();
  },
  "a write after the peer has ended": async ({ client, server, events, quiet }) => {
    read(client);
    server.end();
    await quiet();
    client.write("late", (error) => events.client.push(`written ${(error as NodeJS.ErrnoException | null)?.code}`));
    await quiet();
  },
  "a half-open socket writes after the peer has ended": async ({ client, server, events, quiet }) => {
    server.allowHalfOpen = true;
    read(server);
    read(client);
    client.end("question");
    await quiet();
    server.end("answer", () => events.server.push("end callback"));
    await quiet();
  },
  "data is returned and read again": async ({ client, server, events, quiet }) => {
    server.once("readable", () => {
      const head = server.read() as Buffer | null;
      if (head === null) return;
      server.unshift(head);
      server.on("data", (chunk) => events.server.push(`again ${chunk}`));
    });
    client.write("head");
    await quiet();
  },
};

const NAMES = ["end", "finish", "drain", "error", "close"] as const;

function record(socket: net.Socket, events: string[]): void {
  for (const name of NAMES) {
    socket.on(name, (value?: unknown) => {
      const { code, syscall, message } = (value ?? {}) as NodeJS.ErrnoException;
      const text = name === "close" ? ` ${value}` : name === "error" ? ` ${code ?? message} ${syscall ?? ""}` : "";
      events.push(`${name}${text}`.trim());
    });
  }
}

function read(socket: net.Socket): void {
  socket.on("data", () => {});
}

async function play(script: Script, { connect, listen, quiet }: Platform): Promise<Pair["events"]> {
  const events = { client: [] as string[], server: [] as string[] };
  let accepted = (_socket: net.Socket): void => {};
  const server = new Promise<net.Socket>((resolve) => {
    accepted = resolve;
  });
  const listener = await listen((socket) => accepted(socket));
  const client = connect(listener.port);
  record(client, events.client);
  client.once("connect", () => {});
  const pair = { client, server: await server, events, quiet };
  record(pair.server, events.server);
  await quiet();
  await script(pair);
  const seen = { client: [...events.client], server: [...events.server] };
  client.destroy();
  pair.server.destroy();
  listener.close();
  await quiet();
  return seen;
}

const real: Platform = {
  connect: (port) => net.connect(port, "127.0.0.1"),
  listen: (onConnection) =>
    new Promise((resolve) => {
      const server = net.createServer(onConnection).listen(0, "127.0.0.1", () => {
        resolve({ port: (server.address() as net.AddressInfo).port, close: () => server.close() });
      });
    }),
  // The loopback interface delivers in the next turns of the event loop; large data takes many.
  quiet: async () => {
    for (let turn = 0; turn < 400; turn++) await new Promise((resolve) => setImmediate(resolve));
  },
};

async function playSimulated(script: Script): Promise<Pair["events"]> {
  const world = new World(1, { cpuMs: 0, latenessMs: 0 }, new Trace());
  const link = { latencyMs: 0.1, jitterMs: 0, chunking: "whole" as const, bufferBytes: 4 * 1024 * 1024 };
  const ignore = (): void => {};
  const network = new Network(world, link, {
    onDial: ignore,
    onUnlistened: ignore,
    onConnection: ignore,
    onClosed: ignore,
  });
  const simulated = network.module(net) as Pick<typeof net, "connect" | "createServer">;
  const played = play(script, {
    connect: (port) => simulated.connect({ host: "10.1.0.1", port }),
    listen: (onConnection) =>
      new Promise((resolve) => {
        const server = simulated.createServer();
        server.on("connection", onConnection);
        server.listen({ host: "10.1.0.1", port: 80 }, () => resolve({ port: 80, close: () => server.close() }));
      }),
    quiet: () => world.sleep(100),
  });
  await world.runUntil(played);
  return played;
}

describe("real and simulated sockets emit the same events", () => {
  test.each(Object.entries(SCRIPTS))("%s", async (_name, script) => {
    expect(await playSimulated(script)).toEqual(await play(script, real));
  });
});
