/** The end of a registry in Nacos while registrations are under way. The server is the test's own, and speaks the protocol of Nacos. */
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { Code } from "triple-es";
import { createServer } from "triple-es/node";
import { nacos } from "triple-es-dubbo/nacos";
import { expect, it, onTestFinished } from "vitest";
import {
  BiRequestStreamDef,
  type PayloadInit,
  RequestDef,
} from "../../../../dubbo/src/gen/nacos/nacos_grpc_service_triple.ts";

const OK: PayloadInit = {
  metadata: { type: "Response" },
  body: { value: new TextEncoder().encode(JSON.stringify({ resultCode: 200, errorCode: 300 })) },
};
const INSTANCE = { application: "shop", host: "10.0.0.1", port: 1, services: [{ service: "shop.v1.Shop" }] };

/**
 * Starts a server, which waits before it answers a request of a type. Returns its gRPC port, what clients have left there, the types
 * of their requests, and how they have ended requests before their answers.
 */
async function startNacos(waitMs: (type: string) => number = () => 0) {
  const instances = new Set<string>();
  const connections = new Set<number | undefined>();
  const aborted: Code[] = [];
  const asked: string[] = [];
  const server = createServer()
    .add(RequestDef, {
      async request(payload, { peer, signal }) {
        const type = payload.metadata?.type ?? "";
        const body = JSON.parse(new TextDecoder().decode(payload.body?.value));
        asked.push(type);
        await sleep(waitMs(body.type ?? type), undefined, { signal }).catch(() => aborted.push(signal.reason.code));
        const key = `${peer.port} ${body.serviceName}`;
        if (body.type === "registerInstance" && connections.has(peer.port)) instances.add(key);
        if (body.type === "deregisterInstance") instances.delete(key);
        return OK;
      },
    })
    .add(BiRequestStreamDef, {
      async *requestBiStream(requests, { peer }) {
        connections.add(peer.port);
        try {
          for await (const _ of requests) yield* [];
        } finally {
          connections.delete(peer.port);
          for (const key of instances) if (key.startsWith(`${peer.port} `)) instances.delete(key);
        }
      },
    });
  await server.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return { port: server.address.port, instances, connections, asked, aborted };
}

const open = (grpcPort: number) => nacos({ servers: ["127.0.0.1:8848"], grpcPort });

it("leaves nothing, whenever a registry is closed while it registers an instance", async () => {
  const { port, instances, connections } = await startNacos((type) => (type === "registerInstance" ? 20 : 1));
  const rounds = Array.from({ length: 40 }, async (_, turns) => {
    const registry = open(port);
    registry.register(INSTANCE).ready.catch(() => {});
    await sleep(turns * 10);
    for (let i = 0; i < turns; i++) await turn();
    await registry.close();
  });
  await Promise.all(rounds);
  await expect.poll(() => [instances.size, connections.size]).toEqual([0, 0]);
});

it("refuses registrations once it ends", async () => {
  const { port, instances, connections } = await startNacos((type) => (type === "deregisterInstance" ? 100 : 1));
  const registry = open(port);
  await registry.register(INSTANCE).ready;
  const closed = registry.close();
  const register = () => registry.register({ ...INSTANCE, port: 2 });
  expect(register).toThrow("the registry is closed");
  await closed;
  expect(register).toThrow("the registry is closed");
  await expect.poll(() => [instances.size, connections.size]).toEqual([0, 0]);
});

it("does not wait for a server that does not answer", async () => {
  const { port, asked, aborted } = await startNacos(() => 60_000);
  const registry = open(port);
  const { ready } = registry.register(INSTANCE);
  await expect.poll(() => asked.length).toBe(1);
  await registry.close();
  await expect(ready).rejects.toThrow("the registration is closed");
  // The client's timeout would end it as `deadline_exceeded`.
  await expect.poll(() => aborted).toEqual([Code.Canceled]);
});
