/**
 * Connections to several addresses of which some do not answer at all: neither with a connection nor with an error (RFC
 * 8305).
 */
import { spawn } from "node:child_process";
import dnsModule from "node:dns";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect as connectNet, createServer as createNetServer, type Socket } from "node:net";
import type { ClosableTransport } from "triple-es";
import { dns, fixed, p2c, pickFirst } from "triple-es/discovery";
import { createServer, createTransport } from "triple-es/node";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createGreetServiceClient, GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { hasDnsmasq, startDns } from "../support/dnsmasq.ts";
import { pause } from "../support/pause.ts";
import { greeter } from "../support/server.ts";

const hasIpv6 = await new Promise<boolean>((resolve) => {
  const server = createNetServer().once("error", () => resolve(false));
  server.listen(0, "::1", () => server.close(() => resolve(true)));
});

/** Starts a greeter on a free port of the address. */
async function listenOn(host: string): Promise<number> {
  const server = createServer().add(GreetServiceDef, greeter);
  await server.listen({ port: 0, host });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return server.address.port;
}

const STOPPED = `
const [host, port] = process.argv.slice(1);
require("net").createServer().on("error", ({ code }) => console.log(code)).listen({ host, port: Number(port), backlog: 1 }, () => {
  console.log("listening");
  process.kill(process.pid, "SIGSTOP");
});`;

/** Returns true if an attempt to connect to the port has sent a SYN that is not answered. */
function hasUnanswered(port: number): boolean {
  const SYN_SENT = "02";
  const remote = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return ["tcp", "tcp6"].some((name) =>
    readFileSync(`/proc/net/${name}`, "utf8")
      .split("\n")
      .map((line) => line.trim().split(/\s+/))
      .some(([, , address, state]) => address?.endsWith(remote) && state === SYN_SENT),
  );
}

/** Starts a greeter on an address, and takes the same port of the silent one. */
async function listenBeside(silent: string, other: string): Promise<number> {
  let port = await listenOn(other);
  while (!(await listenSilently(silent, port))) port = await listenOn(other);
  return port;
}

/**
 * Takes a port whose SYNs are not answered: its process is stopped, and its queue of connections is full. Returns false if another
 * process has the port.
 */
async function listenSilently(host: string, port: number): Promise<boolean> {
  const child = spawn(process.execPath, ["-e", STOPPED, host, String(port)], { stdio: ["ignore", "pipe", "inherit"] });
  const sockets: Socket[] = [];
  onTestFinished(() => {
    child.kill("SIGKILL");
    for (const socket of sockets) socket.destroy();
  });
  const [said] = (await once(child.stdout, "data")) as [Buffer];
  if (said.includes("EADDRINUSE")) return false;
  for (let tries = 0; tries < 20; tries++) {
    const socket = connectNet(port, host).on("error", () => {});
    sockets.push(socket);
    // The state of the kernel, because this process may learn late that it has been answered.
    for (let checks = 0; socket.connecting && checks < 30; checks = hasUnanswered(port) ? checks + 1 : 0) {
      await pause(10);
    }
    if (socket.connecting) return true;
  }
  throw new Error(`${host} answers with a full queue`);
}

/** More time for an attempt to connect than a call has. */
const connectTimeoutMs = 3_600_000;

/** Makes a call. */
async function greet(transport: ClosableTransport): Promise<string> {
  onTestFinished(() => transport.close({ graceMs: 0 }));
  return (await createGreetServiceClient(transport).greet({ name: "x" }, { timeoutMs: 60_000 })).greeting;
}

const WAYS = [
  ["::1", "127.0.0.1", "2"],
  ["127.0.0.1", "::1", "2"],
  ["::1", "127.0.0.1", "1.1"],
  ["127.0.0.1", "::1", "1.1"],
] as const;

describe.skipIf(process.platform !== "linux" || !hasIpv6)("an address that does not answer", () => {
  describe.each(WAYS)("%s, beside %s, over HTTP/%s", (silent, other, httpVersion) => {
    const protocol = httpVersion === "2" ? "grpc" : "http-rpc";

    it.skipIf(!hasDnsmasq)("does not delay calls to a name in the DNS, with any policy", async () => {
      const port = await listenBeside(silent, other);
      const { address } = await startDns({ "greet.test": ["127.0.0.1", "::1"] });
      for (const balancer of [p2c(), pickFirst()]) {
        const resolver = dns(`greet.test:${port}`, { servers: [address] });
        expect(await greet(createTransport({ resolver, balancer, protocol, httpVersion, connectTimeoutMs }))).toBe(
          "Hello, x!",
        );
      }
    });

    it("does not delay calls to a list that begins with it, with pick first", async () => {
      const port = await listenBeside(silent, other);
      const formatted = [silent, other].map((host) => (host === "::1" ? `[::1]:${port}` : `${host}:${port}`));
      const options = {
        resolver: fixed(formatted),
        balancer: pickFirst(),
        protocol,
        httpVersion,
        connectTimeoutMs,
      } as const;
      expect(await greet(createTransport(options))).toBe("Hello, x!");
    });

    it("does not delay calls to the name of a base URL", async () => {
      const port = await listenBeside(silent, other);
      const found = [silent, other].map((address) => ({ address, family: address === "::1" ? 6 : 4 }));
      const lookup = (_host: string, _options: object, done: (error: null, all: object[]) => void): void =>
        done(null, found);
      const spy = vi.spyOn(dnsModule, "lookup").mockImplementation(lookup as never);
      onTestFinished(() => spy.mockRestore());
      const baseUrl = `http://greet.test:${port}`;
      expect(await greet(createTransport({ baseUrl, protocol, httpVersion, connectTimeoutMs }))).toBe("Hello, x!");
      expect(spy).toHaveBeenCalled();
    });
  });
});
