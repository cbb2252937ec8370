/** Traffic rules of consumers: texts that change, in a config center of the test, and servers on this machine. */
import { Code, createContextValues, type HandlerContext, RpcError } from "triple-es";
import type { Endpoint, Registry } from "triple-es/discovery";
import { createServer, createTransport, type RegistryTransportOptions } from "triple-es/node";
import { hessian2 } from "triple-es-dubbo/hessian2";
import { addGenericCalls, createGenericClient } from "triple-es-dubbo/java";
import { forwardTag, type RulesOptions, rules } from "triple-es-dubbo/rules";
import { describe, expect, it, onTestFinished } from "vitest";
import { createDubboResolvers } from "../../../dubbo/src/registry/dubbo/resolver.ts";
import { parseInstance } from "../../../dubbo/src/registry/dubbo/service-instance.ts";
import type { Store, Text } from "../../../dubbo/src/registry/dubbo/source.ts";
import type { Watcher } from "../../../dubbo/src/registry/watch.ts";
import { createGreetServiceClient, GreetServiceDef } from "../../../examples/gen/greet/v1/greet_triple.ts";

const SERVICE = "greet.v1.GreetService";

/** A config center. */
class Texts {
  readonly #watchers = new Map<string, Set<Watcher<string | undefined>>>();
  readonly #texts = new Map<string, string>();

  get keys(): readonly string[] {
    return [...this.#watchers].flatMap(([key, { size }]) => (size > 0 ? key : [])).sort();
  }

  watch(key: string, watcher: Watcher<string | undefined>): () => void {
    const watchers = this.#watchers.get(key) ?? new Set();
    this.#watchers.set(key, watchers.add(watcher));
    queueMicrotask(() => watcher.onValue(this.#texts.get(key)));
    return () => watchers.delete(watcher);
  }

  set(key: string, text: string): void {
    this.#texts.set(key, text);
    for (const watcher of this.#watchers.get(key) ?? []) watcher.onValue(text);
  }

  fail(): void {
    for (const watchers of this.#watchers.values()) {
      for (const watcher of watchers) watcher.onFailure(new Error("the session is lost"));
    }
  }
}

interface Options extends Partial<RegistryTransportOptions> {
  readonly consumer?: Partial<RulesOptions>;
  /** Other endpoints, which do not answer. */
  readonly others?: readonly Endpoint[];
  /** True if the registry does not answer. */
  readonly silent?: boolean;
}

/** Starts servers with tags, and a client that finds them. */
async function start(tags: readonly string[], { consumer, others = [], silent = false, ...options }: Options = {}) {
  const texts = new Texts();
  const problems: string[] = [];
  const urls: string[] = [];
  const names = new Map<string, string>();
  for (const tag of tags) {
    const server = createServer({ serializations: [hessian2] });
    addGenericCalls(server);
    const greet = (_: object, { timeoutMs }: HandlerContext): { greeting: string } => {
      if (tag === "failing") throw new RpcError(Code.Unavailable, "down");
      return { greeting: tag === "timeout" ? tenths(timeoutMs()) : tag };
    };
    await server.add(GreetServiceDef, { greet } as never).listen({ host: "127.0.0.1", port: 0 });
    onTestFinished(() => server.close({ graceMs: 0 }));
    const address = `127.0.0.1:${server.address.port}`;
    names.set(address, tag);
    urls.push(`tri://${address}/${SERVICE}?application=shop${tag && `&dubbo.tag=${tag}`}`);
  }
  for (const { address, attributes } of others) {
    urls.push(`tri://${address}/${SERVICE}?application=shop&dubbo.tag=${attributes?.["dubbo.tag"]}`);
  }
  const textOf = (watch: Text["watch"]): Text => ({ watch, read: async () => undefined, change: async () => {} });
  const store: Omit<Store<never>, "open" | "entriesOf" | "consumerEntry" | "definition"> = {
    name: "test",
    hasConsoles: true,
    decodeProvider: (url) => url,
    watchProviders(_key, watcher) {
      if (!silent) queueMicrotask(() => watcher.onValue(urls));
      return () => {};
    },
    mapping: () =>
      textOf(({ onValue }) => {
        queueMicrotask(() => onValue(undefined));
        return () => {};
      }),
    watchInstances: () => () => {},
    parseInstance,
    metadata: () => textOf(() => () => {}),
    rule: (key) => textOf((watcher) => texts.watch(key, watcher)),
  };
  const own = rules({ application: "web", ...consumer });
  const resolver = createDubboResolvers(store as Store<never>, { servers: ["here"], rules: own });
  const registry = { resolver } as Registry;
  const transport = createTransport({
    registry,
    onEndpoint: (event) => void (event.type === "invalid endpoint" && problems.push(event.problem)),
    ...options,
  });
  onTestFinished(() => transport.close());
  const client = createGreetServiceClient(transport);
  const call = async (headers: Record<string, string> = {}): Promise<string> =>
    (await client.greet({}, { headers, timeoutMs: 20_000 })).greeting;
  const addressOf = (tag: string): string => [...names].find(([, name]) => name === tag)?.[0] ?? "";
  return { texts, problems, call, client, transport, addressOf };
}

/** Describes the remaining time of a call, in steps of ten seconds. */
const tenths = (leftMs: number | undefined): string =>
  leftMs === undefined ? "none" : `${Math.ceil(leftMs / 10_000) * 10} s`;

/** The answers of many calls, each once. */
async function answers(call: () => Promise<string>): Promise<string[]> {
  return [...new Set(await Promise.all(Array.from({ length: 50 }, call)))].sort();
}

/** Returns the answer of a call, or the text of its error. */
const outcomeOf = (calling: Promise<unknown>): Promise<unknown> => calling.catch(({ message }: Error) => message);

describe("a consumer with traffic rules", () => {
  it("calls the endpoints of a request's tag, from the first call on", async () => {
    const { call, texts } = await start(["", "gray"]);
    expect(await call({ "dubbo.tag": "gray" })).toBe("gray");
    expect(await answers(() => call())).toEqual([""]);
    expect(texts.keys).toEqual([
      `${SERVICE}::.affinity-router`,
      `${SERVICE}::.condition-router`,
      `${SERVICE}::.configurators`,
      "shop.affinity-router",
      "shop.condition-router",
      "shop.tag-router",
      "web.condition-router",
      "web.configurators",
    ]);
  });

  it("applies a rule that changes, keeps the last one when a text is malformed, and reports that", async () => {
    const { call, texts, problems, addressOf } = await start(["", "gray"]);
    await call();
    const tagged = `configVersion: v3.0\ntags: [{ name: blue, addresses: ["${addressOf("")}"] }]`;
    texts.set("shop.tag-router", tagged);
    await expect.poll(() => outcomeOf(call())).toContain(`the traffic rules leave no endpoint for /${SERVICE}/Greet`);
    expect(await call({ "dubbo.tag": "blue" })).toBe("");
    texts.set("shop.tag-router", "tags: [");
    await expect
      .poll(() => problems)
      .toEqual([
        expect.stringMatching(/^the rule shop\.tag-router is ignored, and the last one stays: it is not YAML/),
      ]);
    await expect(call()).rejects.toThrow("no endpoint");
    texts.set("shop.tag-router", "");
    await expect.poll(() => outcomeOf(call())).toBe("");
  });

  it("moves calls by conditions on the consumer and the method", async () => {
    const { call, texts } = await start(["a", "b"], { consumer: { parameters: { "dubbo.tag": "a" } } });
    expect(await answers(() => call())).toEqual(["a"]);
    texts.set("web.condition-router", 'configVersion: v3.0\nconditions: ["application=web & method=Greet =>"]');
    await expect.poll(() => outcomeOf(call())).toContain("no endpoint");
  });

  it("disables and weighs endpoints by dynamic configuration of the service and of its application", async () => {
    const { call, texts, problems, addressOf } = await start(["a", "b"], { consumer: { parameters: {} } });
    const tags = `{ tags: [{ name: all, addresses: ["${addressOf("a")}", "${addressOf("b")}"] }] }`;
    texts.set("shop.tag-router", tags);
    const all = () => answers(() => call({ "dubbo.tag": "all" }));
    await expect.poll(() => all().catch(() => [])).toEqual(["a", "b"]);
    const configs = (name: string, parameters: string) =>
      `configs: [{ side: consumer, providerAddresses: ["${addressOf(name)}"], parameters: { ${parameters} } }]`;
    texts.set("web.configurators", `{ scope: application, key: web, ${configs("a", "disabled: true")} }`);
    await expect.poll(all).toEqual(["b"]);
    // A disabled endpoint is not called even if there is no other.
    texts.set(
      "web.configurators",
      "{ scope: application, key: web, configs: [{ side: consumer, parameters: { disabled: true } }] }",
    );
    await expect.poll(() => outcomeOf(call({ "dubbo.tag": "all" }))).toContain("the traffic rules leave no endpoint");
    texts.set("web.configurators", `{ scope: application, key: web, ${configs("a", "disabled: true")} }`);
    await expect.poll(() => all().catch(() => [])).toEqual(["b"]);
    texts.set("web.configurators", "configs: {}");
    await expect.poll(() => problems).toEqual([expect.stringContaining("the rule web.configurators is ignored")]);
    expect(await all()).toEqual(["b"]);
    texts.set("web.configurators", "");
    await expect.poll(all).toEqual(["a", "b"]);
    texts.set(`${SERVICE}::.configurators`, `{ key: ${SERVICE}, ${configs("b", "weight: 0")} }`);
    await expect.poll(all).toEqual(["a"]);
  });

  describe("and dynamic configuration of calls", () => {
    const item = (parameters: string, more = ""): string => `{ side: consumer, ${more} parameters: { ${parameters} } }`;
    const ofService = (...items: string[]): string => `{ key: ${SERVICE}, configs: [${items.join(", ")}] }`;
    const SERVICE_KEY = `${SERVICE}::.configurators`;

    /** Starts one server. Its calls have no timeout of their own. */
    async function startOne(tag: string, options: Options = {}, consumer: Partial<RulesOptions> = {}) {
      const started = await start([tag], { ...options, consumer: { ...consumer, parameters: { "dubbo.tag": tag } } });
      const { client, texts } = started;
      const call = async (timeoutMs?: number): Promise<string> =>
        (await client.greet({}, timeoutMs === undefined ? {} : { timeoutMs })).greeting;
      return { ...started, call, set: (text: string) => texts.set(SERVICE_KEY, text) };
    }

    it("gives calls its timeout, unless they have their own, and takes it back", async () => {
      const { call, texts, set } = await startOne("timeout");
      expect(await call()).toBe("none");
      texts.set("web.configurators", `{ scope: application, key: web, configs: [${item("timeout: 60000")}] }`);
      await expect.poll(() => call()).toBe("60 s");
      expect(await call(90_000)).toBe("90 s");
      set(ofService(item("timeout: 30000")));
      await expect.poll(() => call()).toBe("30 s");
      set(ofService(item("greet.timeout: 50000, other.timeout: 20000, timeout: 40000")));
      await expect.poll(() => call()).toBe("50 s");
      set("");
      await expect.poll(() => call()).toBe("60 s");
      texts.set("web.configurators", "");
      await expect.poll(() => call()).toBe("none");
    });

    it("applies to the first call", async () => {
      const text = ofService(item("timeout: 60000"));
      const withOption = await startOne("timeout", {}, { texts: { [SERVICE_KEY]: text } });
      expect(await withOption.call()).toBe("60 s");
      const withRegistry = await startOne("timeout");
      withRegistry.set(text);
      expect(await withRegistry.call()).toBe("60 s");
    });

    it("does not apply if it is for some of the providers", async () => {
      const { call, set, addressOf } = await startOne("timeout");
      const addresses = `["${addressOf("timeout")}", "127.0.0.1"]`;
      const some = item("timeout: 60000", `providerAddresses: ${addresses},`);
      const own = (more: string): string => `{ side: provider, ${more}, parameters: { timeout: 60000 } }`;
      set(ofService(some, own(`addresses: ${addresses}`), own("applications: [store]")));
      expect(await call()).toBe("none");
    });

    it("applies as a default if it is for all providers", async () => {
      const { call, set } = await startOne("timeout");
      const ofProviders = "{ side: provider, applications: [shop], parameters: { timeout: 60000 } }";
      set(ofService(ofProviders));
      expect(await call()).toBe("60 s");
      set(ofService(item("timeout: 30000"), ofProviders));
      await expect.poll(() => call()).toBe("30 s");
    });

    it("gives way to a service config if it is for all providers", async () => {
      const serviceConfig = { methodConfig: [{ name: [{}], timeout: "40s" }] };
      const { call, set } = await startOne("timeout", { serviceConfig });
      const ofProviders = "{ side: provider, parameters: { greet.timeout: 60000 } }";
      set(ofService(ofProviders));
      expect(await call()).toBe("40 s");
      set(ofService(item("timeout: 30000"), ofProviders));
      await expect.poll(() => call()).toBe("30 s");
    });

    it("reports parameters that are not supported, each once", async () => {
      const { call, set, problems } = await startOne("timeout");
      set(ofService(item("loadbalance: random, greet.cluster: failfast, mock: 'force:return null', timeout: 60000")));
      expect(await call()).toBe("60 s");
      expect(await call()).toBe("60 s");
      expect(problems).toEqual(
        ["loadbalance", "greet.cluster", "mock"].map(
          (name) => `the parameter ${name} of dynamic configuration is not supported`,
        ),
      );
    });

    it("reports a timeout that is not an integer", async () => {
      const { call, set, problems } = await startOne("timeout");
      set(ofService(item("timeout: 3s")));
      expect(await call()).toBe("none");
      expect(problems).toEqual(['the parameter timeout of dynamic configuration must be an integer, not "3s"']);
    });

    it.each([true, false])("changes the number of retries of calls that are retried: %s", async (isRetried) => {
      const attempts: number[] = [];
      const { call, set } = await startOne("failing", {
        retry: { maxAttempts: 3, initialBackoffMs: 1, applies: () => isRetried, onRetry: () => void attempts.push(1) },
      });
      const retries = async (): Promise<number> => {
        attempts.length = 0;
        await expect(call()).rejects.toThrow("down");
        return attempts.length;
      };
      expect(await retries()).toBe(isRetried ? 2 : 0);
      set(ofService(item("retries: 0")));
      await expect.poll(retries).toBe(0);
      set(ofService(item("retries: 4")));
      await expect.poll(retries).toBe(isRetried ? 4 : 0);
    });

    it("ends a call that waits for the registry when its transport is closed", async () => {
      const { call, transport } = await startOne("timeout", { silent: true });
      const outcome = expect(call()).rejects.toMatchObject({
        code: Code.Unavailable,
        rawMessage: expect.stringContaining("closed"),
      });
      await transport.close({ graceMs: 0 });
      await outcome;
    });

    it("ends a call whose deadline passes before the registry has answered", async () => {
      const { client } = await startOne("timeout", { silent: true });
      await expect(client.greet({}, { timeoutMs: 1_000 })).rejects.toMatchObject({
        rawMessage: "the deadline of 1000 ms has passed before the answer of test at here",
        target: SERVICE,
      });
    });
  });

  it("uses the texts of the option in place of those in the registry", async () => {
    const text = 'configVersion: v3.0\nforce: true\nconditions: ["=> dubbo.tag=none"]';
    const { call, texts } = await start([""], { consumer: { texts: { "shop.condition-router": text } } });
    await expect(call()).rejects.toThrow("no endpoint");
    expect(texts.keys).not.toContain("shop.condition-router");
  });

  it("waits for endpoints that a call may go to, and fails over when they cannot be reached", async () => {
    const others = [{ address: "127.0.0.1:1", attributes: { "dubbo.tag": "gray" } }];
    const { call } = await start([""], { others });
    expect(await call()).toBe("");
    expect(await call({ "dubbo.tag": "gray" })).toBe("");
    await expect(call({ "dubbo.tag": "gray", "dubbo.force.tag": "true" })).rejects.toThrow("no endpoint");
  });

  it("keeps retries within the rules", async () => {
    const attempts: number[] = [];
    const retry = { maxAttempts: 4, initialBackoffMs: 1, applies: () => true, onRetry: () => void attempts.push(1) };
    const { call } = await start(["failing", ""], { retry });
    await expect(call({ "dubbo.tag": "failing" })).rejects.toThrow("down");
    expect(attempts).toHaveLength(3);
  });

  it("keeps its rules while the registry is lost", async () => {
    const { call, texts } = await start(["", "gray"]);
    texts.set("shop.tag-router", "configVersion: v3.0\ntags: [{ name: x, addresses: ['*'] }]");
    await expect(call()).rejects.toThrow("no endpoint");
    texts.fail();
    await new Promise((resolve) => setImmediate(resolve));
    await expect(call()).rejects.toThrow("no endpoint");
  });
});

/** Rules of the application `shop` for two endpoints, one in each region, with texts that the test sets. */
function ruled() {
  const watchers = new Map<string, (text: string | undefined) => void>();
  const watch = (key: string, onText: (text: string | undefined) => void) => {
    watchers.set(key, onText);
    return () => {};
  };
  const own = rules({ application: "web" }).of({ service: SERVICE }, "10.0.0.1");
  own.start(watch, () => {});
  own.provide("shop");
  for (const onText of watchers.values()) onText(undefined);
  const endpoints = ["bj", "hz"].map((region, index) => ({ address: `10.0.0.${index}:1`, attributes: { region } }));
  const ready = endpoints.map((endpoint) => ({ endpoint, weight: 1, active: 0 }));
  const pick = (path: string): string | undefined => {
    const picker = own.route((left) => () => left[0] as never)(ready, []);
    return picker({ path, headers: new Map() } as never)?.endpoint.attributes?.["region"];
  };
  return { own, pick, set: (key: string, text?: string) => watchers.get(key)?.(text) };
}

it("rules of the last application apply until those of another one are known", () => {
  const { own, pick, set } = ruled();
  set("shop.condition-router", 'conditions: ["=> region=hz"]');
  expect(pick("/a/b")).toBe("hz");
  expect(own.provide("store")).toBe(false);
  expect(pick("/a/b")).toBe("hz");
  set("store.condition-router");
  expect(pick("/a/b")).toBe("bj");
  set("store.condition-router", 'conditions: ["=> region=hz"]');
  own.provide("shop");
  set("shop.condition-router", "malformed");
  expect(pick("/a/b")).toBe("bj");
});

it("a resolver that runs again before its last run has ended watches the texts", () => {
  const own = rules({ application: "web" }).of({ service: SERVICE }, "10.0.0.1");
  const runs = [new Set<string>(), new Set<string>()];
  const watchBy = (keys: Set<string>) => (key: string) => {
    keys.add(key);
    return () => keys.delete(key);
  };
  const [endFirst, endSecond] = runs.map((keys) => own.start(watchBy(keys), () => {}));
  endFirst?.();
  own.provide("shop");
  expect(runs.map(({ size }) => size)).toEqual([0, 8]);
  endSecond?.();
  expect(runs.map(({ size }) => size)).toEqual([0, 0]);
});

it("conditions on the method apply to its overloads, whose paths have a suffix over HTTP RPC", () => {
  const { pick, set } = ruled();
  set("shop.condition-router", 'conditions: ["method=find => region=hz"]');
  expect(["find", "find~l", "finds"].map((name) => pick(`/com.acme.Shop/${name}`))).toEqual(["hz", "hz", "bj"]);
});

it("conditions on the method, and settings of one, apply to the method that a generic call calls", async () => {
  const { texts, transport } = await start(["timeout"], { serializations: [hessian2] });
  const generic = createGenericClient(transport);
  const values = createContextValues();
  const hello = (method: string, tag: string) => {
    const options = { mode: "protobuf-json", headers: { "dubbo.tag": tag }, values } as const;
    return outcomeOf(generic.call(SERVICE, method, ["{}"], options));
  };
  expect(await hello("greet", "timeout")).toBe('{"greeting":"none"}');
  texts.set(`${SERVICE}::.condition-router`, 'conditions: ["method=greet =>"]');
  await expect.poll(() => hello("greet", "timeout")).toContain("no endpoint");
  expect(await hello("other", "timeout")).toContain("has no unary method");
  // Calls may share the values of their caller.
  expect(values.get({ id: Symbol.for("triple-es.called"), defaultValue: "unchanged" })).toBe("unchanged");
  texts.set(`${SERVICE}::.condition-router`, "");
  const settings = "{ side: consumer, parameters: { greet.timeout: 20000 } }";
  texts.set(`${SERVICE}::.configurators`, `{ key: ${SERVICE}, configs: [${settings}] }`);
  await expect.poll(() => hello("greet", "timeout")).toBe('{"greeting":"20 s"}');
});

it("consumers leave the weights of items with side: provider to the providers", () => {
  const { own, set } = ruled();
  const endpoints = ["10.0.0.7:1", "10.0.0.8:1"].map((address) => ({ address, attributes: { application: "shop" } }));
  const weights = (...items: string[]): unknown => {
    set(`${SERVICE}::.configurators`, `{ key: ${SERVICE}, configs: [${items}] }`);
    return own.weigh(endpoints).map(({ weight }) => weight);
  };
  const provider = "{ side: provider, parameters: { weight: 7 } }";
  expect(weights(provider)).toEqual([undefined, undefined]);
  expect(weights(provider, "{ side: consumer, parameters: { weight: 9 } }")).toEqual([9, 9]);
});

it("settings are remembered for some methods only, because generic calls may name any", () => {
  const { own, set } = ruled();
  const item = "{ side: consumer, parameters: { timeout: 1000, greet.timeout: 2000 } }";
  set(`${SERVICE}::.configurators`, `{ key: ${SERVICE}, configs: [${item}] }`);
  const settingsOf = (name: string) => own.overrides({ name } as Parameters<typeof own.overrides>[0]);
  const first = settingsOf("greet");
  expect(settingsOf("greet")).toBe(first);
  for (let i = 0; i < 1_000; i++) expect(settingsOf(`greet${i}`)?.timeoutMs).toBe(1_000);
  expect(settingsOf("greet")).toEqual(first);
  expect(settingsOf("greet")).not.toBe(first);
});

it("conditions on the method name it as the proto file or as Java", () => {
  const { pick, set } = ruled();
  for (const [condition, expected] of [
    ["method=find => region=hz", "hz"],
    ["method=Fi* => region=hz", "hz"],
    ["method!=find => region=hz", "bj"],
    ["method!=other,Find => region=hz", "bj"],
    ["methods=FIND => region=hz", "bj"],
  ]) {
    set("shop.condition-router", `conditions: ["${condition}"]`);
    expect(["find", "Find"].map((name) => pick(`/acme.Shop/${name}`))).toEqual([expected, expected]);
  }
});

it("forwardTag passes the tag of a call on", async () => {
  const { call } = await start(["", "gray"]);
  const requestHeaders = new Map([["dubbo.tag", "gray"]]);
  expect(forwardTag({ requestHeaders } as never)).toEqual({ "dubbo.tag": "gray" });
  expect(await call(forwardTag({ requestHeaders } as never))).toBe("gray");
});

it.each<[RulesOptions, string]>([
  [undefined as never, "the options of rules must be an object with some of: application, parameters, texts"],
  [{} as never, "application of rules must be the name of the consumer, not undefined"],
  [{ application: "a", text: {} } as never, 'the options of rules: there is no "text", did you mean "texts"?'],
  [{ application: "" }, 'application of rules must be the name of the consumer, not ""'],
  [
    { application: "a", texts: { x: "" } },
    "texts: x must end with .tag-router or .affinity-router or .condition-router or .configurators",
  ],
  [
    { application: "a", texts: { "x.tag-router": "text" } },
    'texts: x.tag-router is invalid: the rule must be a mapping, not "text"',
  ],
])("rejects the options %j", (options, message) => {
  expect(() => rules(options)).toThrow(new TypeError(message));
});
