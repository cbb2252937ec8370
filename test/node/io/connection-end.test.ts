/** Ends of HTTP/2 connections and exchanges that peers make difficult: full sockets, an early GOAWAY, unread requests. */
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { createGreetServiceClient } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { Flag, frame, RawConnection, request, settings, Type, words } from "../../support/frames.ts";
import { pause } from "../../support/pause.ts";
import { arriving, connectGreeter, failureOf, openTransport, startPeer, startServer } from "../../support/server.ts";

const LARGE_WINDOWS = [settings([4, 0x7fff_ffff]), frame(Type.windowUpdate, 0, 0, words(0x7fff_0000))];
const ADA = Buffer.from([0, 0, 0, 0, 5, 0x0a, 3, 0x41, 0x64, 0x61]);

/** The sockets of this process that are connected from a local port, or to a remote one. */
function socketsOf(port: number): Socket[] {
  const handles = (process as unknown as { _getActiveHandles(): Partial<Socket>[] })._getActiveHandles();
  return handles.filter((one) => one.remotePort === port || (one.localPort === port && one.remotePort)) as Socket[];
}

describe("a connection that has ended", () => {
  it("is closed by the server although its client does not read", async () => {
    const { port } = await startServer({ greet: () => ({ greeting: "x".repeat(1 << 20) }) });
    const connection = await RawConnection.open(port, LARGE_WINDOWS[0]);
    connection.write(LARGE_WINDOWS[1] as Buffer);
    await connection.frame(Type.settings);
    connection.socket.pause();
    const [server] = socketsOf(port).filter(({ localPort }) => localPort === port);
    for (let id = 1; id < 60; id += 2) {
      connection.write(frame(Type.headers, Flag.endHeaders, id, request()), frame(Type.data, Flag.endStream, id, ADA));
    }
    await expect.poll(() => server?.writableLength ?? 0).toBeGreaterThan(100_000);
    // DATA on stream 0 is a connection error.
    connection.write(frame(Type.data, 0, 0, Buffer.alloc(1)));
    await expect.poll(() => server?.destroyed, { timeout: 10_000 }).toBe(true);
    connection.socket.destroy();
  });

  it("is closed by the client although its server does not read", async () => {
    const port = await startPeer((socket) => {
      socket.on("error", () => {});
      socket.write(Buffer.concat([...LARGE_WINDOWS, frame(Type.settings, Flag.ack, 0)]));
      socket.pause();
    });
    const transport = openTransport(`http://127.0.0.1:${port}`, { pingIntervalMs: 1_000, pingTimeoutMs: 500 });
    const client = createGreetServiceClient(transport);
    const uploads = Array.from({ length: 12 }, () => failureOf(client.greet({ name: "x".repeat(3 << 20) })));
    await Promise.all(uploads);
    await transport.close();
    await expect
      .poll(() => socketsOf(port).filter(({ remotePort }) => remotePort === port), { timeout: 10_000 })
      .toEqual([]);
  });

  it("is closed when it is idle after its client has sent GOAWAY", async () => {
    const { port } = await startServer({}, { limits: { idleTimeoutMs: 300, firstCallTimeoutMs: 300 } });
    const connection = await RawConnection.open(port);
    await connection.frame(Type.settings);
    connection.write(frame(Type.goaway, 0, 0, words(0, 0)));
    await expect.poll(() => connection.closed, { timeout: 15_000 }).toBe(true);
  });
});

describe("an exchange whose request arrives after its headers", () => {
  it("is not reset after both sides have ended", async () => {
    const { port } = await startServer();
    const connection = await RawConnection.open(port);
    connection.write(frame(Type.headers, Flag.endHeaders, 1, request("None")));
    const { flags } = await connection.frame(Type.headers, 1);
    expect(flags & Flag.endStream).toBe(Flag.endStream);
    connection.write(frame(Type.data, Flag.endStream, 1, ADA), frame(Type.ping, 0, 0, Buffer.alloc(8)));
    await connection.frame(Type.ping);
    expect(connection.received.filter(({ stream }) => stream === 1)).toHaveLength(1);
  });

  it("leaves the window of its connection to others, although its handler does not read", async () => {
    const { baseUrl } = await startServer({
      greetTogether: async () => {
        await pause(20);
        return { greeting: "unread" };
      },
    });
    const client = connectGreeter(baseUrl, { maxConnections: 1 });
    const large = { name: "x".repeat(60_000) };
    async function* late() {
      yield { name: "a" };
      await pause(5);
      yield large;
    }
    // Together they are four times as large as the window of a connection.
    for (let i = 0; i < 70; i++) expect((await client.greetTogether(late())).greeting).toBe("unread");
    expect((await client.greet(large, { timeoutMs: 20_000 })).greeting).toContain("x");
    expect((await client.greetTogether(arriving("a", "b"))).greeting).toBe("unread");
  });
});
