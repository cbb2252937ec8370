/**
 * Options of registration and of registries, and the host that is registered. What is written is judged by `npm run
 * registries`.
 */
import { readFileSync } from "node:fs";
import type { Instance, Registration, Registry } from "triple-es/discovery";
import { addHealth } from "triple-es/health";
import { createServer, createTransport } from "triple-es/node";
import { type RegisterOptions, register } from "triple-es-dubbo";
import { etcd } from "triple-es-dubbo/etcd";
import { nacos } from "triple-es-dubbo/nacos";
import { rules } from "triple-es-dubbo/rules";
import { zookeeper } from "triple-es-dubbo/zookeeper";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkAttributes } from "../../../dubbo/src/registry/dubbo/attributes.ts";
import { keepRegistered, type Publisher, type Session } from "../../../dubbo/src/registry/registration.ts";
import { GreetServiceDef } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { ROOT } from "../../support/documents.ts";
import { greeter, signalled } from "../../support/server.ts";

/** A registry that keeps what it is asked to register. */
function recorder(): { readonly registry: Registry; readonly instances: Instance[]; closed: number } {
  const instances: Instance[] = [];
  const recorded = { instances, closed: 0 };
  const registration: Registration = {
    ready: Promise.resolve(),
    status: () => "registered",
    update: async () => {},
    close: async () => {
      recorded.closed++;
    },
  };
  const registry: Registry = {
    resolver: () => async function* () {},
    register(instance) {
      instances.push(instance);
      return registration;
    },
    close: async () => {},
  };
  return Object.assign(recorded, { registry });
}

async function listening(host = "127.0.0.1") {
  const server = createServer().add(GreetServiceDef, greeter, { group: "blue", version: "1.0.0" });
  await server.listen({ port: 0, host });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return server;
}

describe("register", () => {
  it("offers the services of the server except health and metadata, at the address it listens on", async () => {
    const server = await listening();
    addHealth(server);
    const recorded = recorder();
    const options = { application: "shop", propagationMs: 0 };
    register(server, recorded.registry, options);
    register(server, recorded.registry, { ...options, host: "[::1]", port: 80, weight: 7, mode: "instance" });
    const services = [{ service: "greet.v1.GreetService", group: "blue", version: "1.0.0" }];
    expect(recorded.instances).toMatchObject([
      { application: "shop", host: "127.0.0.1", port: server.address.port, services, weight: 100, mode: "all" },
      { host: "::1", port: 80, services, weight: 7, mode: "instance" },
    ]);
    await server.close();
    expect(recorded.closed).toBe(2);
  });

  it("never registers the address that means all addresses", async () => {
    const server = await listening("0.0.0.0");
    const recorded = recorder();
    try {
      register(server, recorded.registry, { application: "shop", propagationMs: 0 });
      expect(recorded.instances[0]?.host).not.toBe("0.0.0.0");
    } catch (error) {
      // A machine without a network.
      expect(error).toMatchObject({ message: "this machine has no address for consumers: set the option host" });
    }
  });

  it.each<[string, Partial<RegisterOptions>]>([
    ["application must consist", { application: "a/b" }],
    ["application must consist", { application: "" }],
    ["weight must be an integer between 0 and 1,000,000, not -1", { weight: -1 }],
    ["weight must be an integer", { weight: 1.5 }],
    ["mode must be in", { mode: "both" as never }],
    ["propagationMs must be 0 or more", { propagationMs: -1 }],
    ["onRegistration must be a function, not 5", { onRegistration: 5 as never }],
    ["host must be a name or an IP address", { host: "a:b" }],
    ["port must be an integer", { port: 0 }],
    ['the options of register: there is no "propagationMS", did you mean', { propagationMS: 1 } as never],
    ["warmUp must be in [true,false]", { warmUp: "no" as never }],
    ["onRegistration must be a function", { onRegistration: [] as never }],
    ['the attribute "weight" has a meaning in Dubbo', { attributes: { weight: "1" } }],
    ['the attribute "a b" must have a name', { attributes: { "a b": "1" } }],
    ['the attribute "a" must be a string without "&"', { attributes: { a: "1&b=2" } }],
  ])("throws an error that begins with %j", async (message, options) => {
    const server = await listening();
    expect(() => register(server, recorder().registry, { application: "shop", ...options })).toThrow(message);
  });

  it("needs a server that listens and has services", async () => {
    const { registry } = recorder();
    const idle = createServer().add(GreetServiceDef, greeter);
    expect(() => register(idle, registry, { application: "shop" })).toThrow("the server does not listen on a port");
    const empty = createServer();
    await empty.listen({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => empty.close({ graceMs: 0 }));
    expect(() => register(empty, registry, { application: "shop" })).toThrow("needs a server with services");
  });

  it("accepts attributes that a provider URL can hold", () => {
    expect(() => checkAttributes({ "dubbo.tag": "gray ü=%41?" })).not.toThrow();
    expect(() => checkAttributes({ "dubbo.tag": "\ud800" })).toThrow(TypeError);
  });
});

describe("options of registries", () => {
  it.each<[string, () => Registry]>([
    ["zookeeper needs servers", () => zookeeper({ servers: [] })],
    ["servers of zookeeper must be host:port", () => zookeeper({ servers: ["localhost"] })],
    ["servers of etcd must be host:port", () => etcd({ servers: ["http://localhost:2379"] })],
    ["sessionTimeoutMs must be an integer between 100 and", () => zookeeper({ servers: ["a:1"], sessionTimeoutMs: 0 })],
    ["ttlMs must be an integer between 1,000 and", () => etcd({ servers: ["a:1"], ttlMs: 5 })],
    ["auth of etcd must be { username, password }", () => etcd({ servers: ["a:1"], auth: {} as never })],
    [
      'the username of zookeeper must not contain ":"',
      () => zookeeper({ servers: ["a:1"], auth: { username: "a:b", password: "" } }),
    ],
    ["auth of nacos must be { username, password }", () => nacos({ servers: ["a:1"], auth: {} as never })],
    ["auth of zookeeper must be", () => zookeeper({ servers: ["a:1"], auth: { username: "a" } as never })],
    ['levels must be in ["all"', () => nacos({ servers: ["a:1"], levels: "application" as never })],
    ['levels must be in ["all"', () => etcd({ servers: ["a:1"], levels: "application" as never })],
    ['root must be a path such as "dubbo"', () => etcd({ servers: ["a:1"], root: "a b" })],
    ['the options of etcd: there is no "ttlMS"', () => etcd({ servers: ["a:1"], ttlMS: 5 } as never)],
    ['the options of nacos: there is no "groups"', () => nacos({ servers: ["a:1"], groups: "a" } as never)],
    ['the options of zookeeper: there is no "chroot"', () => zookeeper({ servers: ["a:1"], chroot: "/a" } as never)],
    ["the options of zookeeper must be an object", () => zookeeper(undefined as never)],
    ["shop.Shop must be an array", () => nacos({ servers: ["a:1"], providedBy: { "shop.Shop": "shop" as never } })],
  ])("throw an error that begins with %j", (message, open) => {
    expect(open).toThrow(message);
  });

  it.each(Object.entries({ register, zookeeper, etcd, nacos, rules }))(
    "of %s are all known by name",
    async (name, make: (...given: never[]) => unknown) => {
      const page = readFileSync(`${ROOT}docs/dubbo-options.md`, "utf8").split(`\n## ${name}\n`)[1] ?? "";
      const names = [...(page.split("\n## ")[0] as string).matchAll(/^\| `(\w+)`/gm)].map(([, option]) => option);
      const given = { servers: ["a:1"], application: "a" };
      const options = Object.fromEntries(names.map((one) => [one, given[one as keyof typeof given]]));
      expect(names).not.toEqual([]);
      const parts = name === "register" ? [await listening(), recorder().registry] : [];
      expect(() => make(...([...parts, options] as never[]))).not.toThrow();
    },
  );
  it("of a transport exclude a base URL and a resolver, and are validated when it is made", () => {
    const { registry } = recorder();
    const both = { registry, baseUrl: "http://localhost:1" } as never;
    expect(() => createTransport(both)).toThrow("baseUrl and registry exclude each other");
    const resolver = async function* () {};
    expect(() => createTransport({ registry, resolver } as never)).toThrow("resolver and registry exclude each other");
    expect(() => createTransport({ registry: {} as never })).toThrow(
      "registry must be a registry, such as zookeeper makes",
    );
    expect(() => createTransport({ registry, subset: 0 })).toThrow("subset must be an integer of 1 or more");
  });
});

describe("a registration", () => {
  const INSTANCE: Instance = { application: "shop", host: "h", port: 1, services: [], weight: 1 };

  /** A publisher whose sessions the test ends. */
  function publisher() {
    const published: [number, number | undefined, number | undefined][] = [];
    const sessions: AbortController[] = [];
    const withdrawn: (number | undefined)[] = [];
    const made: Publisher<Session & { readonly id: number }> = {
      async open() {
        if (sessions.at(-1)?.signal.aborted ?? true) sessions.push(new AbortController());
        return { id: sessions.length, lost: (sessions.at(-1) as AbortController).signal };
      },
      async publish(session, instance, earlier) {
        published.push([session.id, instance.weight, earlier?.weight]);
      },
      async withdraw(_session, instance) {
        withdrawn.push(instance.weight);
      },
    };
    return { made, published, sessions, withdrawn };
  }

  it("publishes again in each new session, with the latest state", async () => {
    const { made, published, sessions, withdrawn } = publisher();
    const registration = keepRegistered(made, INSTANCE);
    await registration.ready;
    await registration.update({ weight: 2 });
    sessions[0]?.abort();
    await expect.poll(() => published.length).toBe(3);
    await registration.update({ weight: 3 });
    await registration.close();
    expect(published).toEqual([
      [1, 1, undefined],
      [1, 2, 1],
      [2, 2, undefined],
      [2, 3, 2],
    ]);
    expect(withdrawn).toEqual([3]);
    await expect(registration.update({ weight: 4 })).rejects.toThrow("the registration is closed");
  });

  it("of an instance that is offline publishes nothing in a new session", async () => {
    const { made, published, sessions } = publisher();
    const registration = keepRegistered(made, INSTANCE);
    await registration.update({ offline: true });
    sessions[0]?.abort();
    await registration.update({ weight: 2 });
    expect(published.filter(([session]) => session === 2)).toEqual([]);
    expect(registration.status()).toBe("offline");
    await registration.update({ offline: false });
    expect(published.at(-1)).toEqual([2, 2, undefined]);
    await registration.close();
  });

  it("that is closed before it was made rejects ready, and does not wait longer than its grace period", async () => {
    const { made } = publisher();
    const registration = keepRegistered({ ...made, open: () => new Promise<never>(() => {}) }, INSTANCE);
    await registration.close({ graceMs: 10 });
    await expect(registration.ready).rejects.toThrow("the registration is closed");
  });

  it("reports a failure once, and the success after it", async () => {
    const { made } = publisher();
    const events: string[] = [];
    const third = signalled();
    let attempts = 0;
    const failing: typeof made = {
      ...made,
      open: (signal) => {
        attempts++;
        if (attempts < 3) return Promise.reject(new Error("no registry"));
        third.resolve();
        return made.open(signal);
      },
    };
    const registration = keepRegistered(failing, INSTANCE, (event) => {
      events.push(event.type === "failed" ? event.error.rawMessage : event.type);
    });
    await third.promise;
    await registration.ready;
    expect(events).toEqual(["no registry", "registered"]);
    await registration.close();
  });
});
