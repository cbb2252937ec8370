/**
 * The models of the simulator against the servers that they stand for: one script of requests runs on both, and must have the
 * same results. A model that is kinder than its server proves nothing.
 */
import { createServer, createTransport } from "triple-es/node";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { BiRequestStreamDef, RequestDef } from "../../dubbo/src/gen/nacos/nacos_grpc_service_triple.ts";
import { NacosConnection, type NacosMessage, type NacosModule } from "../../dubbo/src/registry/nacos/connection.ts";
import { NacosModel } from "../simulation/nacos-model.ts";
import { createRandom } from "../simulation/random.ts";
import { hasNacos, type NacosProcess, startNacos } from "../support/registries/nacos.ts";
import { timeUntil } from "./fleet.ts";

const NAMED = { namespace: "public", groupName: "DEFAULT_GROUP" };
const CONFIG = { dataId: "greet.v1.GreetService", group: "mapping", tenant: "" };
const INSTANCE = { ip: "10.0.0.1", port: 50_051, weight: 1, healthy: true, enabled: true, ephemeral: true };
const UNKNOWN_MD5 = "0".repeat(32);

/** A client that records what a server tells it. */
interface Client {
  readonly connection: NacosConnection;
  /** The requests of the server, as far as both servers write them the same. */
  readonly heard: string[];
}

async function connect(port: number, module: NacosModule): Promise<Client> {
  const transport = createTransport({ baseUrl: `http://127.0.0.1:${port}`, maxConnections: 1 });
  const connection = new NacosConnection(transport, { module, namespace: "", token: async () => undefined });
  onTestFinished(() => connection.end(new Error("the test is over")));
  await connection.open(new AbortController().signal);
  const heard: string[] = [];
  connection.on("NotifySubscriberRequest", ({ serviceInfo }) => heard.push(`list ${listOf({ serviceInfo })}`));
  connection.on("ConfigChangeNotifyRequest", ({ dataId, group }) => heard.push(`changed ${dataId} ${group}`));
  return { connection, heard };
}

/** The addresses and weights of a list. */
function listOf({ serviceInfo }: NacosMessage): string {
  const { name, hosts } = serviceInfo as { name: string; hosts: { ip: string; port: number; metadata: object }[] };
  const each = hosts.map(({ ip, port, metadata }) => `${ip}:${port} ${JSON.stringify(metadata)}`).sort();
  return `${name.replace(/^.*@@/, "")} [${each.join(", ")}]`;
}

/** Runs the script on a server. Returns its results, in words. */
async function play(port: number, service: string): Promise<string[]> {
  const results: string[] = [];
  const note = (what: string, { resultCode, errorCode = 0 }: NacosMessage, more = ""): void => {
    results.push(`${what}: ${resultCode} ${errorCode} ${more}`.trim());
  };
  const [consumer, provider, config] = await Promise.all([
    connect(port, "naming"),
    connect(port, "naming"),
    connect(port, "config"),
  ]);
  const named = { ...NAMED, serviceName: service };
  const subscribe = (subscribed: boolean, serviceName = service): Promise<NacosMessage> =>
    consumer.connection.query("SubscribeServiceRequest", {
      ...named,
      serviceName,
      subscribe: subscribed,
      clusters: "",
    });
  const write = (type: string, metadata: object, { connection } = provider): Promise<NacosMessage> => {
    const instance = { ...INSTANCE, serviceName: service, clusterName: "DEFAULT", metadata };
    return connection.query("InstanceRequest", { ...named, type, instance });
  };
  const heardList = async (expected: string): Promise<void> => {
    await timeUntil(() => consumer.heard.at(-1) === `list ${expected}`, 10_000);
    results.push(`the subscriber has ${expected}`);
  };

  const first = await subscribe(true);
  note("a subscription to a service that is not there", first, listOf(first));
  note("a name that is not allowed", await subscribe(true, "a b"));
  note("an instance", await write("registerInstance", { n: "1" }));
  await heardList(`${service} [10.0.0.1:50051 {"n":"1"}]`);
  note("the same instance with other metadata", await write("registerInstance", { n: "2" }));
  await heardList(`${service} [10.0.0.1:50051 {"n":"2"}]`);
  const second = await connect(port, "naming");
  note("an equal instance of another connection", await write("registerInstance", { n: "3" }, second));
  await heardList(`${service} [10.0.0.1:50051 {"n":"2"}, 10.0.0.1:50051 {"n":"3"}]`);
  second.connection.end(new Error("the provider has crashed"));
  await heardList(`${service} [10.0.0.1:50051 {"n":"2"}]`);
  note("its end", await write("deregisterInstance", { n: "2" }));
  await heardList(`${service} []`);
  note("the end of the subscription", await subscribe(false));

  const key = { ...CONFIG, dataId: service };
  const query = (): Promise<NacosMessage> => config.connection.query("ConfigQueryRequest", key);
  const publish = (content: string, casMd5: string): Promise<NacosMessage> =>
    config.connection.query("ConfigPublishRequest", { ...key, content, casMd5, additionMap: { type: "text" } });
  const listen = async (md5: string): Promise<string> => {
    const fields = { listen: true, configListenContexts: [{ ...key, md5 }] };
    const { changedConfigs } = await config.connection.request("ConfigBatchListenRequest", fields);
    return `${((changedConfigs as readonly unknown[] | null) ?? []).length} changes`;
  };
  note("a configuration that is not there", await query());
  results.push(`a listener that knows it: ${await listen("")}`);
  note("its first content", await publish("one", "0"));
  const known = async (content: string): Promise<string> => {
    await timeUntil(async () => (await query())["content"] === content, 10_000);
    return String((await query())["md5"]);
  };
  const md5 = await known("one");
  results.push(`the MD5 of its content: ${md5}`);
  await timeUntil(() => config.heard.length > 0, 10_000);
  results.push(String(config.heard[0]));
  results.push(`a listener that knows it: ${await listen(md5)}`);
  results.push(`a listener that knows another content: ${await listen(UNKNOWN_MD5)}`);
  const { resultCode } = await publish("two", UNKNOWN_MD5);
  results.push(`a content in place of another one: ${resultCode}`);
  note("a content in place of the last one", await publish("two", md5));
  results.push(`its MD5: ${await known("two")}`);
  return results;
}

async function startModel(): Promise<{ readonly port: number; close(): Promise<void> }> {
  const world = {
    get now() {
      return performance.now();
    },
    after: (ms: number, run: () => void) => void setTimeout(run, ms).unref(),
    random: (purpose: string) => createRandom(1, purpose),
    note: () => {},
  };
  const model = new NacosModel({ createServer, RequestDef, BiRequestStreamDef }, world, () => {});
  const { address } = await model.listen(0, "127.0.0.1", 0);
  return { port: (address as { readonly port: number }).port, close: () => model.close() };
}

describe.skipIf(!hasNacos)("nacos", () => {
  let server: NacosProcess;
  beforeAll(async () => {
    server = await startNacos();
  });
  afterAll(() => server?.close());

  it("and its model give the same results", async () => {
    const model = await startModel();
    onTestFinished(() => model.close());
    const ports = [server.port + 1_000, model.port];
    const [real, simulated] = (await Promise.all(ports.map((port) => play(port, "modelled")))) as [string[], string[]];
    expect(simulated).toEqual(real);
    expect(real).toHaveLength(22);
  });

  it("and its model do not know a connection without a setup", async () => {
    const model = await startModel();
    onTestFinished(() => model.close());
    for (const port of [server.port + 1_000, model.port]) {
      const transport = createTransport({ baseUrl: `http://127.0.0.1:${port}`, maxConnections: 1 });
      const options = { module: "naming", namespace: "", token: async () => undefined } as const;
      const connection = new NacosConnection(transport, options);
      const response = await connection.query("HealthCheckRequest", {});
      expect(response).toMatchObject({ resultCode: 500, errorCode: 301 });
      expect(connection.lost.aborted).toBe(true);
    }
  });
});
