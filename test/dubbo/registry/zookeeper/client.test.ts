/**
 * The client of ZooKeeper with servers that misbehave: malformed replies, sessions that are refused, connections lost
 * midway.
 */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { ZooKeeperClient } from "../../../../dubbo/src/registry/zookeeper/client.ts";
import { FrameSplitter, JuteReader, JuteWriter } from "../../../../dubbo/src/registry/zookeeper/jute.ts";
import { Change, Op, Xid } from "../../../../dubbo/src/registry/zookeeper/protocol.ts";
import { createZooKeeperTree } from "../../../../dubbo/src/registry/zookeeper/tree.ts";

/** One connection of a client to the scripted server. */
interface Peer {
  readonly socket: Socket;
  /** Answers the connect request with a session of so many milliseconds; 0: the session has expired. */
  session(timeoutMs: number): void;
  reply(xid: number, record: (writer: JuteWriter) => unknown, failure?: number): void;
  event(type: number, path: string): void;
}

interface Request {
  readonly xid: number;
  readonly type: number;
  readonly path: string;
}

/**
 * Starts a server that calls `onConnect` for each connect request and `onRequest` for each request. Returns a client of
 * it.
 */
async function scripted(
  onConnect: (peer: Peer) => void,
  onRequest: (peer: Peer, request: Request) => void = () => {},
): Promise<ZooKeeperClient> {
  const server = createServer((socket) => {
    const frames = new FrameSplitter(1_000_000);
    let isNew = true;
    const peer: Peer = {
      socket,
      session: (timeoutMs) =>
        void socket.write(new JuteWriter().int(0).int(timeoutMs).long(7n).bytes(new Uint8Array(16)).frame()),
      reply: (xid, record, failure = 0) => {
        const writer = new JuteWriter().int(xid).long(1n).int(failure);
        record(writer);
        socket.write(writer.frame());
      },
      event: (type, path) =>
        void socket.write(new JuteWriter().int(Xid.Watch).long(1n).int(0).int(type).int(3).string(path).frame()),
    };
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      for (const body of frames.push(chunk)) {
        const reader = new JuteReader(body);
        if (isNew) {
          isNew = false;
          onConnect(peer);
          continue;
        }
        const [xid, type] = [reader.int(), reader.int()];
        if (xid === Xid.Ping) peer.reply(xid, () => {});
        else onRequest(peer, { xid, type, path: xid < 0 || type === Op.CloseSession ? "" : reader.string() });
      }
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = new ZooKeeperClient({
    servers: [{ host: "127.0.0.1", port }],
    tls: undefined,
    auth: undefined,
    sessionTimeoutMs: 10_000,
    connectTimeoutMs: 10_000,
  });
  onTestFinished(async () => {
    await client.close();
    server.close();
  });
  return client;
}

function writeNode(writer: JuteWriter, content: string): JuteWriter {
  writer.string(content);
  for (let field = 0; field < 4; field++) writer.long(1n);
  return writer.int(1).int(0).int(0).long(0n).int(0).int(0).long(1n);
}

it("a request whose reply is malformed fails, and the next one uses a new connection", async () => {
  let sessions = 0;
  const client = await scripted(
    (peer) => {
      sessions++;
      peer.session(10_000);
    },
    (peer, { xid }) => peer.reply(xid, (writer) => (sessions === 1 ? writer.int(99) : writeNode(writer, "whole"))),
  );
  const read = (): Promise<string> =>
    client.request(
      Op.GetData,
      "/a",
      (writer) => writer.string("/a").bool(false),
      (reader) => reader.string(),
    );
  await expect(read()).rejects.toThrow(RangeError);
  expect([await read(), sessions]).toEqual(["whole", 2]);
});

it("a server that refuses to begin a session makes requests fail", async () => {
  const client = await scripted((peer) => peer.session(0));
  await expect(client.connected()).rejects.toThrow("the server refused to begin a session");
});

it("a server that is gone after a session has expired is tried again after delays", async () => {
  let connects = 0;
  const client = await scripted((peer) => {
    connects++;
    if (connects <= 2) peer.session(connects === 1 ? 10_000 : 0);
    if (connects !== 2) peer.socket.end();
  });
  const start = performance.now();
  await client.connected();
  await expect.poll(() => connects, { timeout: 60_000 }).toBe(8);
  // At least four of the seven times between them are delays of 50, 80, 128 and 205 ms, less 20 % of jitter.
  expect(performance.now() - start).toBeGreaterThan(300);
});

it("a server that is away is tried again after delays, however many requests wait for it", async () => {
  let connects = 0;
  const client = await scripted((peer) => {
    connects++;
    peer.socket.end();
  });
  const start = performance.now();
  for (let request = 0; request < 6; request++) await expect(client.connected()).rejects.toThrow();
  // Delays of 50, 80, 128, 205 and 328 ms, less 20 % of jitter.
  expect(performance.now() - start).toBeGreaterThan(600);
  expect(connects).toBe(6);
});

it.each<[string, (peer: Peer, xid: number) => void]>([
  ["a list without an end", (peer, xid) => peer.reply(xid, (writer) => writer.int(2 ** 31 - 1))],
  ["a reply to another request", (peer, xid) => peer.reply(xid + 1, (writer) => writer.strings([]))],
])("a server that accepts sessions and sends %s is connected to with backoff", async (_, reply) => {
  let sessions = 0;
  const client = await scripted(
    (peer) => {
      sessions++;
      peer.session(10_000);
    },
    (peer, { xid }) => reply(peer, xid),
  );
  const watcher = { onValue: () => {}, onFailure: () => {} };
  const stop = createZooKeeperTree(client, false).watchNames("/p", watcher);
  onTestFinished(() => void stop());
  const start = performance.now();
  await expect.poll(() => sessions, { timeout: 60_000 }).toBe(7);
  // Six delays of 50 ms, each 1.6 times as long as the one before, less 20 % of jitter.
  expect(performance.now() - start).toBeGreaterThan(1_000);
});

it("the removal of a node fails if no server can be reached soon, before the session has expired", async () => {
  const sockets: Socket[] = [];
  const client = await scripted((peer) => {
    if (sockets.push(peer.socket) === 1) peer.session(60_000);
    else peer.socket.destroy();
  });
  const session = await createZooKeeperTree(client, false).session(new AbortController().signal);
  sockets[0]?.destroy();
  await expect.poll(() => sockets.length, { timeout: 10_000 }).toBeGreaterThan(1);
  await expect(session.remove("/p", "")).rejects.toThrow("no server can be reached");
});

it("contents that were read before the connection was lost are current after it is back", async () => {
  let version = 1;
  let loses = false;
  const client = await scripted(
    (peer) => peer.session(10_000),
    (peer, { xid, type, path }) => {
      if (xid < 0 || type === Op.CloseSession) return peer.reply(xid, () => {});
      if (type === Op.GetChildren2) {
        return peer.reply(xid, (writer) => {
          writer.strings(["a", "b"]);
          for (let field = 0; field < 4; field++) writer.long(1n);
          writer.int(1).int(0).int(0).long(0n).int(0).int(2).long(1n);
        });
      }
      if (loses && path === "/p/b") {
        loses = false;
        return void peer.socket.destroySoon();
      }
      peer.reply(xid, (writer) => writeNode(writer, `${path} ${version}`));
      if (version === 1 && path === "/p/b") {
        version = 2;
        loses = true;
        // Both nodes have changed; the second one is read over the next connection.
        setImmediate(() => {
          peer.event(Change.Data, "/p/a");
          peer.event(Change.Data, "/p/b");
        });
      }
    },
  );
  const reports: object[] = [];
  const stop = createZooKeeperTree(client, false).watchContents("/p", {
    onValue: (contents) => reports.push(Object.fromEntries(contents)),
    onFailure: (reason) => reports.push(reason as object),
  });
  onTestFinished(() => void stop());
  await expect.poll(() => reports.at(-1), { timeout: 10_000 }).toEqual({ a: "/p/a 2", b: "/p/b 2" });
  expect(reports).toHaveLength(2);
});
