/** Definitions of services, and consumers, in Nacos, which Dubbo's consoles read. The server is the test's own, and speaks the protocol of Nacos. */
import { Code, type RpcError } from "triple-es";
import { createServer } from "triple-es/node";
import { nacos } from "triple-es-dubbo/nacos";
import { expect, it, onTestFinished } from "vitest";
import type { Payload } from "../../../../dubbo/src/gen/nacos/nacos_grpc_service_pb.ts";
import {
  BiRequestStreamDef,
  type PayloadInit,
  RequestDef,
} from "../../../../dubbo/src/gen/nacos/nacos_grpc_service_triple.ts";
import { writeDefinition } from "../../../../dubbo/src/registry/dubbo/definition.ts";
import { GreetServiceDef } from "../../../../examples/gen/greet/v1/greet_triple.ts";

const write = (type: string, body: object): PayloadInit => ({
  metadata: { type },
  body: { value: new TextEncoder().encode(JSON.stringify({ resultCode: 200, ...body })) },
});

const read = ({ body }: Payload): Readonly<Record<string, string>> =>
  JSON.parse(new TextDecoder().decode(body?.value ?? new Uint8Array()));

/**
 * Starts a server without configurations, which refuses to publish them with `refusal` if it is given. Returns its gRPC port, the
 * configurations that are published, by group and id, the requests about instances, and the number of refusals.
 */
async function startNacos(refusal?: object) {
  let refused = 0;
  const published = new Map<string, string>();
  const instances: Readonly<Record<string, unknown>>[] = [];
  const server = createServer()
    .add(RequestDef, {
      request(payload) {
        const type = payload.metadata?.type ?? "";
        const { group, dataId, content = "" } = read(payload);
        if (type === "ConfigQueryRequest") return write("ConfigQueryResponse", { resultCode: 500, errorCode: 300 });
        if (type === "ConfigPublishRequest" && refusal !== undefined) {
          refused++;
          return write("ErrorResponse", { resultCode: 500, ...refusal });
        }
        if (type === "InstanceRequest") instances.push(read(payload));
        if (type === "ConfigPublishRequest") published.set(`${group} ${dataId}`, content);
        return write("Response", {});
      },
    })
    .add(BiRequestStreamDef, {
      async *requestBiStream(requests, { signal }) {
        for await (const _ of requests) if (signal.aborted) return;
        yield* [];
      },
    });
  await server.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return { port: server.address.port, published, instances, refused: () => refused };
}

it("a provider publishes a definition of each service where Dubbo's metadata report does, empty parts of the key included", async () => {
  const { port, published } = await startNacos();
  const registry = nacos({ servers: ["127.0.0.1:8848"], grpcPort: port });
  onTestFinished(() => registry.close());
  const methods = Object.values(GreetServiceDef.methods);
  const services = [
    { service: "greet.v1.GreetService", methods },
    // Nacos refuses "$" and "/", which Dubbo replaces.
    { service: "com.acme.Outer$Greeter", group: "blue/1", version: "1.0.0", methods },
  ];
  const registration = registry.register({ application: "shop", host: "10.0.0.1", port: 1, services });
  await registration.ready;
  const definitions = () => new Map([...published].filter(([key]) => key.startsWith("dubbo ")));
  await expect.poll(() => definitions().size, { timeout: 10_000 }).toBe(2);
  expect(definitions()).toEqual(
    new Map([
      ["dubbo greet.v1.GreetService:::provider:shop", writeDefinition("shop", services[0] ?? { service: "" })],
      [
        "dubbo com.acme.Outer___Greeter:1.0.0:blue-1:provider:shop",
        writeDefinition("shop", services[1] ?? { service: "" }),
      ],
    ]),
  );
});

it("a consumer is an instance without a port of the service that Dubbo names after it, until its resolver ends", async () => {
  const { port, published, instances } = await startNacos();
  const registry = nacos({ servers: ["127.0.0.1:8848"], grpcPort: port, application: "web", levels: "interface" });
  onTestFinished(() => registry.close());
  const ended = new AbortController();
  const key = { service: "com.acme.Outer$Greeter", group: "blue", version: "1.0.0" };
  const context = { signal: ended.signal, warn: () => {}, next: async () => {}, configure: () => {} };
  const lists = registry.resolver(key)(context)[Symbol.asyncIterator]();
  expect(await lists.next()).toEqual({ done: false, value: [] });
  const id = "dubbo com.acme.Outer___Greeter:1.0.0:blue:consumer:web";
  await expect.poll(() => published.has(id), { timeout: 10_000 }).toBe(true);
  const shared = { application: "web", interface: key.service, group: "blue", version: "1.0.0", side: "consumer" };
  expect(JSON.parse(published.get(id) ?? "")).toMatchObject(shared);
  const serviceName = "consumers:com.acme.Outer$Greeter:1.0.0:blue";
  const metadata = { ...shared, category: "consumers", check: "false", path: key.service, protocol: "consumer" };
  const instance = { port: 0, ephemeral: true, enabled: true, metadata };
  expect(instances).toMatchObject([{ type: "registerInstance", serviceName, groupName: "DEFAULT_GROUP", instance }]);
  ended.abort();
  await lists.next();
  await expect.poll(() => instances.length, { timeout: 10_000 }).toBe(2);
  expect(instances[1]).toMatchObject({ type: "deregisterInstance", serviceName, instance });
});

it("a definition that Nacos refuses for a lack of rights is reported at once, with the reason", async () => {
  const { port, refused } = await startNacos({ errorCode: 403, message: "authorization failed!" });
  const registry = nacos({ servers: ["127.0.0.1:8848"], grpcPort: port });
  onTestFinished(() => registry.close());
  const services = [{ service: "greet.v1.GreetService" }];
  const failure = await new Promise<RpcError>((resolve) => {
    registry.register({ application: "shop", host: "10.0.0.1", port: 1, services }, (event) => {
      if (event.type === "failed") resolve(event.error);
    });
  });
  expect(failure.code).toBe(Code.PermissionDenied);
  expect(failure.message).toContain("the server refused ConfigPublishRequest: authorization failed! (403)");
  expect(refused()).toBe(1);
});
