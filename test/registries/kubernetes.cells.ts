/**
 * The manifest of the example and the resolver, against the API server of Kubernetes. On demand:
 *
 *     KUBE_APISERVER=/path/to/kube-apiserver npm run registries -- kubernetes
 */
import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { kubernetes } from "triple-es/discovery";
import { createServer, createTransport, type Server } from "triple-es/node";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createGreetServiceClient, GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { ROOT } from "../support/documents.ts";
import { hasKubernetes, type KubernetesProcess, startKubernetes } from "../support/registries/kubernetes.ts";
import { greeter } from "../support/server.ts";
import { figure, timeUntil } from "./fleet.ts";

/** The paths of the objects of a kind. */
const PATHS: Readonly<Record<string, string>> = {
  Namespace: "/api/v1/namespaces",
  Service: "/api/v1/namespaces/shop/services",
  ServiceAccount: "/api/v1/namespaces/shop/serviceaccounts",
  Deployment: "/apis/apps/v1/namespaces/shop/deployments",
  PodDisruptionBudget: "/apis/policy/v1/namespaces/shop/poddisruptionbudgets",
  Role: "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles",
  RoleBinding: "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings",
};

/** An address of this machine. The API server refuses loopback addresses in slices. */
const HOST = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

const SLICES = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";

/** An EndpointSlice as the controller of Kubernetes would write it for the service of the manifest. */
function sliceOf(endpoints: readonly { readonly port: number; readonly isReady: boolean }[], index: number): object {
  const { port, isReady } = endpoints[index] as { port: number; isReady: boolean };
  return {
    kind: "EndpointSlice",
    apiVersion: "discovery.k8s.io/v1",
    metadata: { name: `greet-${index}`, labels: { "kubernetes.io/service-name": "greet" } },
    addressType: "IPv4",
    endpoints: [{ addresses: [HOST], conditions: { ready: isReady, serving: true, terminating: !isReady } }],
    ports: [{ name: "tri", protocol: "TCP", port, appProtocol: "kubernetes.io/h2c" }],
  };
}

describe.skipIf(!hasKubernetes || HOST === undefined)("kubernetes", () => {
  let server: KubernetesProcess;
  beforeAll(async () => {
    server = await startKubernetes();
  });
  afterAll(() => server?.close());

  it("accepts each object of the example's manifest, without an unknown field", async () => {
    const manifest = readFileSync(join(ROOT, "examples/kubernetes/greet.yaml"), "utf8");
    const objects = manifest.split(/^---$/m);
    expect(objects).toHaveLength(Object.keys(PATHS).length);
    for (const yaml of objects) {
      const kind = /^kind: (\w+)$/m.exec(yaml)?.[1] ?? "";
      const name = /^ {2}name: ([\w-]+)$/m.exec(yaml)?.[1];
      const path = `${PATHS[kind]}/${name}?fieldManager=test&fieldValidation=Strict`;
      expect(await server.api("PATCH", path, yaml, "application/apply-patch+yaml")).toMatchObject({ kind });
    }
    const service = await server.api("GET", `${PATHS["Service"]}/greet`);
    expect(service).toMatchObject({ spec: { clusterIP: "None", ports: [{ name: "tri", port: 50_051 }] } });
  });

  it("its service account may watch the endpoints, which take calls until they terminate", async () => {
    const request = {
      kind: "TokenRequest",
      apiVersion: "authentication.k8s.io/v1",
      spec: { expirationSeconds: 3_600 },
    };
    const path = `${PATHS["ServiceAccount"]}/greet-consumer/token`;
    const { status } = (await server.api("POST", path, request)) as { status: { token: string } };
    const servers = [await startServer(), await startServer()];
    const state = servers.map(({ address }) => ({ port: address.port, isReady: true }));
    for (const index of servers.keys()) await server.api("POST", SLICES, sliceOf(state, index));

    const resolver = kubernetes("greet", {
      namespace: "shop",
      port: "tri",
      server: server.url,
      ca: server.ca,
      token: () => status.token,
    });
    const transport = createTransport({ resolver });
    onTestFinished(() => transport.close({ graceMs: 0 }));
    const client = createGreetServiceClient(transport);
    await client.greet({ name: "Ada" });
    const addresses = (): string[] =>
      transport
        .endpoints()
        .filter(({ listed }) => listed)
        .map(({ address }) => address)
        .sort();
    const all = state.map(({ port }) => `${HOST}:${port}`).sort();
    expect(addresses()).toEqual(all);

    const [first] = state;
    if (first !== undefined) first.isReady = false;
    await server.api("PUT", `${SLICES}/greet-0`, sliceOf(state, 0));
    const seenMs = await timeUntil(() => addresses().length === 1, 10_000);
    figure(`a terminating pod was seen after ${Math.round(seenMs)} ms`);
    expect(addresses()).toEqual([`${HOST}:${state[1]?.port}`]);
    await client.greet({ name: "Ada" });
  });

  it("says that a token is refused", async () => {
    const resolver = kubernetes("greet", {
      namespace: "shop",
      server: server.url,
      ca: server.ca,
      token: () => "wrong",
    });
    const transport = createTransport({ resolver });
    onTestFinished(() => transport.close({ graceMs: 0 }));
    await expect(createGreetServiceClient(transport).greet({})).rejects.toThrow(/401/);
  });
});

async function startServer(): Promise<Server> {
  const server = await createServer().add(GreetServiceDef, greeter).listen({ port: 0, host: "0.0.0.0" });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return server;
}
