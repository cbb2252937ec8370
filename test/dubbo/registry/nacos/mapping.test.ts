/** Entries in Nacos with names that the server refuses. The server is the test's own, and speaks the protocol of Nacos. */
import type { Endpoint } from "triple-es/discovery";
import { createServer } from "triple-es/node";
import { nacos } from "triple-es-dubbo/nacos";
import { rules } from "triple-es-dubbo/rules";
import { expect, it, onTestFinished } from "vitest";
import type { Payload } from "../../../../dubbo/src/gen/nacos/nacos_grpc_service_pb.ts";
import {
  BiRequestStreamDef,
  type PayloadInit,
  RequestDef,
} from "../../../../dubbo/src/gen/nacos/nacos_grpc_service_triple.ts";

const SERVICE = "greet.v1.GreetService";

const write = (type: string, body: object): PayloadInit => ({
  metadata: { type },
  body: { value: new TextEncoder().encode(JSON.stringify({ resultCode: 200, ...body })) },
});

const read = ({ body }: Payload): Record<string, unknown> =>
  JSON.parse(new TextDecoder().decode(body?.value ?? new Uint8Array()));

/** Answers as Nacos 2.3 does: it has no configuration but the mapping, and refuses other names than these. */
function queryConfig({ dataId, group }: Record<string, unknown>, mapping: string): PayloadInit {
  if (group === "mapping") return write("ConfigQueryResponse", { content: mapping, md5: "1" });
  const isValid = /^[a-zA-Z0-9-_:.]*$/.test(String(dataId));
  const message = isValid ? "config data not exist" : "Param check invalid: Param 'dataId' is illegal";
  return write("ErrorResponse", { resultCode: 500, errorCode: isValid ? 300 : 400, message });
}

/** Starts a server that has one instance of each application, and refuses the name `refused`. Returns its gRPC port. */
async function startNacos(
  mapping: string,
  providers: readonly object[] = [],
): Promise<{ readonly port: number; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = createServer()
    .add(RequestDef, {
      request(payload) {
        const type = payload.metadata?.type ?? "";
        const request = read(payload);
        if (type === "ConfigQueryRequest") return queryConfig(request, mapping);
        if (type !== "SubscribeServiceRequest" || request["subscribe"] === false) return write("Response", {});
        const name = String(request["serviceName"]);
        asked.push(name);
        if (name === "refused") {
          const message = "Param check invalid: Param 'serviceName' is illegal";
          return write("ErrorResponse", { resultCode: 500, errorCode: 400, message });
        }
        const hosts = name.startsWith("providers:")
          ? providers.map((metadata) => ({ ip: "10.0.0.2", port: 50_051, metadata }))
          : [{ ip: "10.0.0.1", port: 50_051, metadata: METADATA }];
        return write("SubscribeServiceResponse", { serviceInfo: { name, hosts } });
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
  return { port: server.address.port, asked };
}

const METADATA = { "dubbo.metadata.revision": "1", "dubbo.metadata.storage-type": "local" };

it("names that Nacos refuses are skipped, each with a report, and the other applications are used", async () => {
  const { port, asked } = await startNacos(`a b#?%é,@shop,shop@@2,商店,refused,good,${"x".repeat(600)}`);
  const registry = nacos({ servers: ["127.0.0.1:8848"], grpcPort: port });
  onTestFinished(() => registry.close());
  const lists: (readonly Endpoint[])[] = [];
  const problems: string[] = [];
  const end = new AbortController();
  onTestFinished(() => end.abort());
  const warn = (problem: string): void => void problems.push(problem);
  void (async () => {
    const context = { signal: end.signal, next: async () => {}, configure() {}, warn };
    for await (const list of registry.resolver({ service: SERVICE })(context)) lists.push(list);
  })().catch((reason: unknown) => problems.push(String(reason)));
  await expect.poll(() => lists.length + problems.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(7);
  expect(problems.sort()).toEqual([
    'the application "@shop" is skipped: Nacos refuses its name',
    'the application "a b#?%é" is skipped: Nacos refuses its name',
    "the application \"refused\" is skipped: the server refused SubscribeServiceRequest: Param check invalid: Param 'serviceName' is illegal (400)",
    'the application "shop@@2" is skipped: Nacos refuses its name',
    `the application "${"x".repeat(120)}…" of the mapping of ${SERVICE} is skipped: its name is no part of a path of at most 512 characters`,
    'the application "商店" is skipped: Nacos refuses its name',
  ]);
  expect(lists.at(-1)?.map(({ address }) => address)).toEqual(["10.0.0.1:50051"]);
  expect(asked.sort()).toEqual(["good", `providers:${SERVICE}::`, "refused"]);
});

it("a provider whose application has a name that no rule can have is used", async () => {
  const { port } = await startNacos("", [{ interface: SERVICE, protocol: "tri", application: "商店" }]);
  const registry = nacos({ servers: ["127.0.0.1:8848"], grpcPort: port, rules: rules({ application: "web" }) });
  onTestFinished(() => registry.close());
  const end = new AbortController();
  onTestFinished(() => end.abort());
  const context = { signal: end.signal, next: async () => {}, configure() {}, warn() {} };
  const { value } = await registry.resolver({ service: SERVICE })(context)[Symbol.asyncIterator]().next();
  expect(value?.map(({ address }: Endpoint) => address)).toEqual(["10.0.0.2:50051"]);
});
