/** Times at which a client of Nacos connects: its servers are away, or end each connection. */
import { type ClosableTransport, Code, RpcError } from "triple-es";
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { NacosClient } from "../../../../dubbo/src/registry/nacos/client.ts";
import { NacosConnection } from "../../../../dubbo/src/registry/nacos/connection.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  vi.spyOn(Math, "random").mockReturnValue(0.5);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const unreachable = new RpcError(Code.Unavailable, "connect ECONNREFUSED");

/** Makes a client of two servers. Returns the times in milliseconds, from now on, at which it has connected, with the hosts. */
function connecting(open: (connection: NacosConnection) => Promise<void>) {
  const connects: string[] = [];
  const start = performance.now();
  vi.spyOn(NacosConnection.prototype, "open").mockImplementation(function (this: NacosConnection) {
    return open(this);
  });
  const servers = ["a", "b"].map((host) => ({ host, port: 8848 }));
  const client = new NacosClient({
    servers,
    grpcPort: undefined,
    module: "naming",
    namespace: "",
    token: async () => undefined,
    openTransport: (address): ClosableTransport => {
      connects.push(`${Math.round(performance.now() - start)} ${address[0]}`);
      return { call: () => Promise.reject(unreachable), close: async () => {} };
    },
  });
  onTestFinished(() => client.close());
  return { client, connects };
}

it("a client whose servers are away connects to each of them after a backoff, however many requests wait", async () => {
  const { client, connects } = connecting(() => Promise.reject(unreachable));
  const failures: string[] = [];
  const request = async (): Promise<void> => {
    await client.connected().catch(({ message }: Error) => failures.push(message));
  };
  await request();
  for (let ms = 0; ms < 8_000; ms += 100) {
    void request();
    await vi.advanceTimersByTimeAsync(100);
  }
  const rounds = [0, 1_000, 2_600, 5_160].flatMap((at, round) =>
    ["ba", "ab"][round % 2]?.split("").map((host) => `${at} ${host}`),
  );
  expect(connects).toEqual(rounds);
  // The requests after the last attempt wait for the next one.
  expect(failures).toHaveLength(1 + 52);
});

it("a client whose server ends each connection at once connects after a backoff, until one has lasted", async () => {
  let end = (): void => {};
  const { client, connects } = connecting(async (connection) => {
    end = () => connection.end(unreachable);
  });
  for (const lastsMs of [0, 100, 6_000, 0, 0]) {
    const connected = client.connected();
    await vi.advanceTimersByTimeAsync(2_000);
    await connected;
    await vi.advanceTimersByTimeAsync(lastsMs);
    end();
  }
  // The connections last for 2,000, 2,100 and 6,400 ms, and 2,000 ms again.
  expect(connects).toEqual(["0 b", "3000 a", "5700 b", "12100 a", "15100 b"]);
});

it("a client that is closed while it waits connects no more", async () => {
  const { client, connects } = connecting(() => Promise.reject(unreachable));
  await expect(client.connected()).rejects.toThrow("no server accepts a connection over gRPC");
  const connected = client.connected();
  client.close();
  await expect(connected).rejects.toThrow("the registry is closed");
  expect(connects).toHaveLength(2);
});
