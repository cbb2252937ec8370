/**
 * The Kubernetes resolver: the meaning of EndpointSlices, responses in any chunks, the requests of a watch, and a real API
 * server, if one is configured as described in CONTRIBUTING.md.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { type Endpoint, kubernetes, type Resolver } from "triple-es/discovery";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { readJsonBody, readLines } from "../../runtime/src/node/kubernetes/api.ts";
import { type EndpointSlice, endpointsOf, SliceSet } from "../../runtime/src/node/kubernetes/endpoint-slices.ts";

/** A slice in the format of the API server. */
const slice = (name: string, hosts: Readonly<Record<string, object>>, version = "7"): EndpointSlice => ({
  metadata: { name, resourceVersion: version },
  endpoints: Object.entries(hosts).map(([host, conditions]) => ({ addresses: [host], conditions })),
  ports: [{ name: "tri", port: 50051 }],
});
const READY = { ready: true, serving: true, terminating: false };
const TERMINATING = { ready: false, serving: true, terminating: true };
const addressesOf = (endpoints: readonly Endpoint[] | undefined): string[] =>
  (endpoints ?? []).map(({ address }) => address);

describe("the endpoints of slices", () => {
  const all = (slices: EndpointSlice[], port?: string | number): string[] => addressesOf(endpointsOf(slices, port));

  it("are the ready ones of all slices, each once; an unknown state is ready", () => {
    const slices = [
      slice("a", { "10.0.0.1": READY, "10.0.0.2": { ready: false }, "10.0.0.3": {} }),
      slice("b", { "10.0.0.1": READY, "fd00::1": { ready: null } }),
    ];
    expect(all(slices)).toEqual(["10.0.0.1:50051", "10.0.0.3:50051", "[fd00::1]:50051"]);
  });

  it("leave out pods that terminate, even published ones, unless there is no other", () => {
    const published = { ready: true, serving: true, terminating: true };
    expect(all([slice("a", { "10.0.0.1": READY, "10.0.0.2": TERMINATING, "10.0.0.3": published })])).toEqual([
      "10.0.0.1:50051",
    ]);
    const unserving = { ready: false, serving: false, terminating: true };
    expect(all([slice("a", { "10.0.0.2": TERMINATING, "10.0.0.4": unserving })])).toEqual(["10.0.0.2:50051"]);
  });

  it("have the port that is named or numbered, and the only one without that", () => {
    const [metadata, endpoints] = [{ name: "a", resourceVersion: "1" }, [{ addresses: ["10.0.0.1"] }]];
    const two = {
      metadata,
      endpoints,
      ports: [
        { name: "tri", port: 50051 },
        { name: "metrics", port: 9090 },
      ],
    };
    expect(all([two], "metrics")).toEqual(["10.0.0.1:9090"]);
    expect(all([two], 50051)).toEqual(["10.0.0.1:50051"]);
    expect(() => all([two])).toThrow("ports tri (50051), metrics (9090): the option port must select one");
    expect(() => all([two], "http")).toThrow('none of them is "http"');
    expect(() => all([{ metadata, endpoints, ports: null }])).toThrow("ports none");
    expect(all([{ metadata, endpoints: null, ports: null }])).toEqual([]);
  });

  it("leave out malformed slices and members with a warning, and slices without the port if others have it", () => {
    const metadata = { name: "bad", resourceVersion: "1" };
    const ports = [{ name: "tri", port: 50_051 }];
    const [good, old] = [slice("good", { "10.0.0.1": READY }), { metadata, ports: [{ name: "old", port: 1 }] }];
    const malformed = [
      { metadata, ports, endpoints: "none" },
      { metadata, ports: [null], endpoints: [{ addresses: ["10.0.0.9"] }] },
      { metadata, ports: "tri", endpoints: [{ addresses: ["10.0.0.9"] }] },
      { metadata, ports, endpoints: [null] },
      { metadata, ports, endpoints: [{}] },
      { metadata, ports, endpoints: [{ addresses: "10.0.0.9" }] },
      { metadata, ports, endpoints: [{ addresses: [5] }] },
      { metadata, ports, endpoints: [{ addresses: ["unix:/run/docker.sock"] }] },
      { metadata, ports, endpoints: [{ addresses: ["unix"] }] },
      { ...old, endpoints: [{ addresses: ["10.0.0.9"] }] },
    ];
    for (const one of malformed as unknown as EndpointSlice[]) {
      const problems: string[] = [];
      const found = endpointsOf([one, good], "tri", (problem) => problems.push(problem));
      expect(addressesOf(found)).toEqual(["10.0.0.1:50051"]);
      expect(problems).toEqual([expect.stringMatching(/EndpointSlice "bad" is skipped: /)]);
    }
    const several: string[] = [];
    const [none] = malformed;
    endpointsOf([{ ...old, endpoints: [{}] }, none as unknown as EndpointSlice, good], "tri", (problem) =>
      several.push(problem),
    );
    expect(several).toEqual([
      'the EndpointSlice "bad" is skipped: the service has the ports old (1): none of them is "tri"',
      'the EndpointSlice "bad" is skipped: its endpoints are not a list',
    ]);
    const odd = { addresses: ["10.0.0.1"], nodeName: 5, zone: {}, targetRef: { kind: "Pod", name: 1 } };
    expect(endpointsOf([{ metadata, ports, endpoints: [odd] } as unknown as EndpointSlice], undefined)).toEqual([
      { address: "10.0.0.1:50051", attributes: {} },
    ]);
  });

  it("contain zone, node and pod", () => {
    const endpoints = [
      { addresses: ["10.0.0.1"], zone: "z1", nodeName: "n1", targetRef: { kind: "Pod", name: "greet-1" } },
    ];
    expect(endpointsOf([{ endpoints, ports: [{ port: 80 }] }], undefined)).toEqual([
      {
        address: "10.0.0.1:80",
        zone: "z1",
        attributes: { "kubernetes.node": "n1", "kubernetes.pod": "greet-1" },
      },
    ]);
  });
});

describe("a set of slices", () => {
  it("follows the events of a watch, and continues from the last version", () => {
    const set = new SliceSet();
    set.replace({ metadata: { resourceVersion: "5" }, items: [slice("a", { "10.0.0.1": READY })] });
    expect(set.resourceVersion).toBe("5");
    const addresses = (): string[] => addressesOf(endpointsOf(set.slices, undefined));
    expect(set.apply({ type: "ADDED", object: slice("b", { "10.0.0.2": READY }, "6") })).toBe("changed");
    expect(addresses()).toEqual(["10.0.0.1:50051", "10.0.0.2:50051"]);
    expect(set.apply({ type: "MODIFIED", object: slice("a", { "10.0.0.1": TERMINATING }, "8") })).toBe("changed");
    expect(addresses()).toEqual(["10.0.0.2:50051"]);
    expect(set.apply({ type: "DELETED", object: slice("a", {}, "9") })).toBe("changed");
    expect(set.apply({ type: "BOOKMARK", object: { metadata: { resourceVersion: "40" } } })).toBe("unchanged");
    expect(set.apply({ type: "SOMETHING" })).toBe("unchanged");
    expect(set.resourceVersion).toBe("40");
    expect(set.apply({ type: "ERROR", object: { code: 410 } })).toBe("expired");
    expect(() => set.apply({ type: "ERROR", object: { code: 500, message: "etcd is away" } })).toThrow("etcd is away");
  });

  it("refuses objects without name or version", () => {
    const set = new SliceSet();
    expect(() => set.replace({ items: [{}], metadata: { resourceVersion: "1" } })).toThrow("no name");
    expect(() => set.replace({})).toThrow("no resourceVersion");
    expect(() => set.apply({ type: "ADDED" })).toThrow("no name");
  });
});

describe("lines of JSON", () => {
  it("are read whole, wherever the chunks are cut", async () => {
    const property = fc.asyncProperty(fc.array(fc.jsonValue()), fc.array(fc.nat(30)), async (values, cuts) => {
      const text = Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(""));
      const chunks = async function* () {
        let at = 0;
        for (const cut of cuts) {
          yield text.subarray(at, at + cut);
          at += cut;
        }
        yield text.subarray(at);
      };
      const read: unknown[] = [];
      for await (const objects of readLines(chunks())) read.push(...objects);
      expect(read).toEqual(values.map((value) => JSON.parse(JSON.stringify(value))));
    });
    await fc.assert(property, { numRuns: 200 });
  });

  it("are refused if they are not JSON", async () => {
    const chunks = async function* () {
      yield Buffer.from("<html>\n");
    };
    await expect(readLines(chunks()).next()).rejects.toThrow("it is not JSON");
    await expect(readJsonBody(chunks())).rejects.toThrow("it is not JSON");
  });
});

/** A server whose responses the test writes. */
async function startApi(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const urls: URL[] = [];
  const server = createServer((request, response) => {
    urls.push(new URL(request.url ?? "", "http://localhost"));
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, urls };
}

/** Runs a resolver until the end of the test. */
function run(resolver: Resolver) {
  const end = new AbortController();
  onTestFinished(() => end.abort());
  const lists: string[][] = [];
  const context = { signal: end.signal, configure() {}, warn() {}, next: async () => {} };
  const done = (async () => {
    for await (const list of resolver(context)) lists.push(addressesOf(list));
  })();
  done.catch(() => {});
  return { lists, done, end };
}

describe("a watch", () => {
  const listOf = (version: string, ...items: EndpointSlice[]): string =>
    JSON.stringify({ kind: "EndpointSliceList", metadata: { resourceVersion: version }, items });

  it("continues from the last version, and lists again when the API no longer has it", async () => {
    const { server, urls } = await startApi((request, response) => {
      const version = new URL(request.url ?? "", "http://localhost").searchParams.get("resourceVersion");
      const isFirst = !urls.slice(0, -1).some((url) => url.searchParams.has("watch"));
      if (version === null) response.end(listOf(isFirst ? "5" : "50", slice("a", { "10.0.0.1": READY }, "5")));
      else if (version === "5") {
        response.write(`${JSON.stringify({ type: "ADDED", object: slice("b", { "10.0.0.2": READY }, "6") })}\n`);
        response.end(`${JSON.stringify({ type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } })}\n`);
      } else if (version === "9") response.end(`${JSON.stringify({ type: "ERROR", object: { code: 410 } })}\n`);
      else if (version === "50" && urls.length < 6) response.writeHead(410).end();
    });
    const { lists } = run(kubernetes("greet", { server, namespace: "shop" }));
    const one = ["10.0.0.1:50051"];
    // The last list is yielded before it is watched.
    await expect.poll(() => urls.length, { timeout: 10_000 }).toBe(7);
    expect(lists).toEqual([one, [...one, "10.0.0.2:50051"], one, one]);
    expect(urls[0]?.pathname).toBe("/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices");
    expect(urls[0]?.searchParams.get("labelSelector")).toBe("kubernetes.io/service-name=greet");
    expect(urls.map((url) => url.searchParams.get("resourceVersion"))).toEqual([
      null,
      "5",
      "9",
      null,
      "50",
      null,
      "50",
    ]);
  });

  it("sends the current token, and reports the refusal of the API", async () => {
    const tokens: (string | undefined)[] = [];
    const { server } = await startApi((request, response) => {
      tokens.push(request.headers.authorization);
      response.writeHead(403).end(JSON.stringify({ kind: "Status", message: "endpointslices is forbidden" }));
    });
    let count = 0;
    const resolver = kubernetes("greet", { server, token: () => `token-${++count}\n` });
    for (let i = 0; i < 2; i++) {
      await expect(run(resolver).done).rejects.toThrow(
        "403: endpointslices is forbidden (the service account needs the verbs list and watch",
      );
    }
    expect(tokens).toEqual(["Bearer token-1", "Bearer token-2"]);
  });

  it("fails as unavailable if it is cut off or the server is unreachable", async () => {
    const { server } = await startApi((request, response) => {
      if (!request.url?.includes("watch")) response.end(listOf("5"));
      else {
        response.write("{");
        setImmediate(() => response.destroy());
      }
    });
    const cut = run(kubernetes("greet", { server }));
    await expect(cut.done).rejects.toMatchObject({
      code: 14,
      rawMessage: "the connection to the Kubernetes API was lost",
    });
    expect(cut.lists).toEqual([[]]);
    await expect(run(kubernetes("greet", { server: "http://127.0.0.1:1" })).done).rejects.toThrow(
      "no response from the Kubernetes API at http://127.0.0.1:1: connect ECONNREFUSED",
    );
    await expect(run(kubernetes("greet")).done).rejects.toThrow(
      "outside a pod: the options server and token are required",
    );
  });

  it.each([
    ["a list", "the list did not arrive within 60 s", 60_000],
    ["a watch", "the watch did not end in time", 330_000],
  ])("fails if the server stands still during %s", async (what, reason, ms) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { server, urls } = await startApi((request, response) => {
      if (request.url?.includes("watch") || what === "a list") response.write("{");
      else response.end(listOf("5"));
    });
    const { done } = run(kubernetes("greet", { server }));
    await expect.poll(() => urls.length, { timeout: 10_000 }).toBe(what === "a list" ? 1 : 2);
    const failure = expect(done).rejects.toThrow(`the connection to the Kubernetes API was lost: ${reason}`);
    // The head of the response arrives in real time.
    await expect.poll(() => vi.getTimerCount(), { timeout: 10_000 }).toBeGreaterThan(0);
    await vi.advanceTimersByTimeAsync(ms);
    await failure;
  });

  it("ends with its signal", async () => {
    let closed = 0;
    const { server, urls } = await startApi((request, response) => {
      if (!request.url?.includes("watch")) response.end(listOf("5"));
      else {
        response.write("\n");
        response.on("close", () => closed++);
      }
    });
    const { lists, done, end } = run(kubernetes("greet", { server }));
    await expect.poll(() => urls.length).toBe(2);
    expect(lists).toEqual([[]]);
    end.abort();
    await expect(done).rejects.toThrow();
    await expect.poll(() => closed).toBe(1);
  });

  it("refuses names that are none", () => {
    expect(() => kubernetes("greet/../secrets")).toThrow(TypeError);
    expect(() => kubernetes("greet", { namespace: "A" })).toThrow('namespace "A" must be a name of Kubernetes');
    expect(kubernetes("greet", { namespace: "shop" }).authority).toBe("greet.shop.svc");
  });
});

const { KUBERNETES_API: api, KUBERNETES_TOKEN: token } = process.env;

describe.skipIf(api === undefined)("a real API server (needs KUBERNETES_API and KUBERNETES_TOKEN)", () => {
  /** A request with a body, which the resolver never sends. */
  const write = async (method: string, path: string, body?: object): Promise<void> => {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const init = { method, headers: { authorization: `Bearer ${token}`, "content-type": type } };
    const response = await fetch(new URL(path, api), body ? { ...init, body: JSON.stringify(body) } : init);
    if (!response.ok && response.status !== 404) throw new Error(`${method} ${path}: ${await response.text()}`);
  };
  const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
  const conditions = (ready: boolean, terminating: boolean) => ({ ready, serving: true, terminating });

  it("is followed from ready to terminating to removed", async () => {
    const service = `greet-${process.pid}`;
    const metadata = { name: `${service}-a`, labels: { "kubernetes.io/service-name": service } };
    const ports = [{ name: "tri", port: 50051, protocol: "TCP" }];
    const endpoints = [1, 2].map((last) => ({ addresses: [`10.1.1.${last}`], conditions: conditions(true, false) }));
    await write("POST", slices, {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata,
      addressType: "IPv4",
      endpoints,
      ports,
    });
    onTestFinished(() => write("DELETE", `${slices}/${metadata.name}`));
    const { lists } = run(kubernetes(service, { server: api, token: () => token }));
    await expect.poll(() => lists.at(-1), { timeout: 10_000 }).toEqual(["10.1.1.1:50051", "10.1.1.2:50051"]);
    const drained = [{ ...endpoints[0], conditions: conditions(false, true) }, endpoints[1]];
    await write("PATCH", `${slices}/${metadata.name}`, { endpoints: drained });
    await expect.poll(() => lists.at(-1), { timeout: 10_000 }).toEqual(["10.1.1.2:50051"]);
    await write("DELETE", `${slices}/${metadata.name}`);
    await expect.poll(() => lists.at(-1), { timeout: 10_000 }).toEqual([]);
  });
});
