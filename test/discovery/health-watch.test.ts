/** Health that clients watch (gRFC A17), over sockets: statuses, servers without the service, lost watches, idle clients. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type Call, Code, Metadata, RpcError } from "triple-es";
import {
  consistentHash,
  fixed,
  p2c,
  pickFirst,
  type Resolver,
  roundRobin,
  type TargetEvent,
} from "triple-es/discovery";
import { addHealth, type Health, ServingStatus } from "triple-es/health";
import { type BalancedTransportOptions, createServer, createTransport } from "triple-es/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { createGreetServiceClient, GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import type { EndpointConnections } from "../../runtime/src/discovery/endpoint.ts";
import { HealthDef, type HealthHandler } from "../../runtime/src/gen/grpc/health/v1/health_triple.ts";
import { createWatches } from "../../runtime/src/node/client/endpoint-watch.ts";
import { cuttableProxy } from "../support/cuttable-proxy.ts";
import { ROOT } from "../support/documents.ts";
import { freePort } from "../support/port.ts";
import { failureOf, greeter, signalled, startServer } from "../support/server.ts";

const SERVICE = "greet.v1.GreetService";
const { SERVING } = ServingStatus;
const WATCHED = { healthCheckConfig: { serviceName: SERVICE } };

/** Starts a server that answers with its name, and has a health service. */
async function startNamed(
  name: string,
  port = 0,
): Promise<{ readonly address: string; readonly health: Health; readonly close: () => Promise<void> }> {
  const server = createServer().add(GreetServiceDef, { ...greeter, greet: () => ({ greeting: name }) });
  const health = addHealth(server);
  await server.listen({ port, host: "127.0.0.1" });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return { address: `127.0.0.1:${server.address.port}`, health, close: () => server.close({ graceMs: 60_000 }) };
}

/** Starts a server with its own implementation of the watch. */
async function startWatched(watch: HealthHandler["watch"]) {
  const server = createServer()
    .add(GreetServiceDef, greeter)
    .add(HealthDef, { watch, check: () => ({ status: SERVING }), list: () => ({ statuses: {} }) });
  await server.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return { server, address: `127.0.0.1:${server.address.port}` };
}

/** A watch that is serving until its call ends. */
async function* serve(_: unknown, { signal }: { readonly signal: AbortSignal }) {
  yield { status: SERVING };
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
}

function connect(addresses: readonly string[], options: Partial<BalancedTransportOptions> = {}) {
  const events: TargetEvent[] = [];
  const transport = createTransport({
    resolver: fixed(addresses),
    serviceConfig: WATCHED,
    onEndpoint: (event) => void events.push(event),
    ...options,
  } as BalancedTransportOptions);
  onTestFinished(() => transport.close({ graceMs: 0 }));
  const client = createGreetServiceClient(transport);
  const states = (): string[] => transport.endpoints().map(({ state }) => state);
  const answers = async (): Promise<string> => {
    const all = new Set<string>();
    for (let i = 0; i < 40; i++) all.add((await client.greet({}, { headers: { "x-user": `${i}` } })).greeting);
    return [...all].sort().join();
  };
  return { transport, client, events, states, answers };
}

const eventually = <T>(read: () => T) => expect.poll(read, { timeout: 10_000, interval: 20 });

describe.each([
  ["p2c", p2c()],
  ["round robin", roundRobin()],
  ["consistent hash", consistentHash("x-user")],
] as const)("with %s", (_, balancer) => {
  it("an endpoint takes calls while the service is serving", async () => {
    const [one, two] = await Promise.all([startNamed("one"), startNamed("two")]);
    const { client, states, answers, transport } = connect([one.address, two.address], { balancer });
    await client.greet({});
    await eventually(states).toEqual(["ready", "ready"]);
    expect(await answers()).toBe("one,two");
    one.health.set(SERVICE, "not_serving");
    await eventually(states).toEqual(["failing", "ready"]);
    expect(transport.endpoints()[0]?.lastError?.rawMessage).toBe(`the service "${SERVICE}" has the status NOT_SERVING`);
    expect(await answers()).toBe("two");
    two.health.set(SERVICE, "unknown");
    await eventually(states).toEqual(["failing", "failing"]);
    const error = await failureOf(client.greet({}));
    expect(error.code).toBe(Code.Unavailable);
    expect(error.rawMessage).toContain(`${two.address}: the service "${SERVICE}" has the status UNKNOWN`);
    one.health.set(SERVICE, "serving");
    await eventually(states).toEqual(["ready", "failing"]);
    expect(await answers()).toBe("one");
  });
});

it("no call goes to an endpoint before its first status", async () => {
  const one = await startNamed("one");
  one.health.set(SERVICE, "not_serving");
  const { client } = connect([one.address]);
  expect((await failureOf(client.greet({}))).rawMessage).toContain("NOT_SERVING");
  const waiting = client.greet({}, { waitForReady: true });
  one.health.set(SERVICE, "serving");
  expect((await waiting).greeting).toBe("one");
});

it("a service that the server does not have yet is not serving, the empty name is the server", async () => {
  const one = await startNamed("one");
  const watch = (serviceName: string) =>
    connect([one.address], { serviceConfig: { healthCheckConfig: { serviceName } } });
  expect((await failureOf(watch("shop.v1.Other").client.greet({}))).rawMessage).toContain("SERVICE_UNKNOWN");
  expect((await watch("").client.greet({})).greeting).toBe("one");
  one.health.set("", "not_serving");
  expect((await failureOf(watch("").client.greet({}))).rawMessage).toContain(
    `the service "" has the status NOT_SERVING`,
  );
});

it("a server without the health service is used without checks, and reported once", async () => {
  const { port } = await startServer();
  const proxy = await cuttableProxy(port);
  const { client, events, answers } = connect([proxy.address]);
  await client.greet({});
  proxy.cut();
  await eventually(() => events.flatMap((event) => ("state" in event ? event.state : []))).toEqual([
    "ready",
    "idle",
    "ready",
  ]);
  await answers();
  expect(events.filter(({ type }) => type === "invalid endpoint")).toEqual([
    {
      type: "invalid endpoint",
      problem: `${proxy.address} has no grpc.health.v1.Health: it takes calls unchecked`,
    },
  ]);
});

it("a failed watch makes its endpoint unavailable, until one succeeds", async () => {
  let watches = 0;
  const { address } = await startWatched((request, context) => {
    if (++watches < 3) throw new RpcError(Code.Internal, "it is broken");
    return serve(request, context);
  });
  const { client, states } = connect([address], { maxBackoffMs: 10 });
  expect((await failureOf(client.greet({}))).rawMessage).toContain(`${address}: health check failed: it is broken`);
  await eventually(states).toEqual(["ready"]);
  expect(watches).toBe(3);
});

it("a watch that fails after a status makes its endpoint unavailable, until the next one has a status", async () => {
  const [failed, resumed] = [signalled(), signalled()];
  let watches = 0;
  const { address } = await startWatched(async function* (request, context) {
    if (++watches > 1) await resumed.promise;
    yield { status: SERVING };
    if (watches > 1) return yield* serve(request, context);
    await failed.promise;
    throw new RpcError(Code.Internal, "it is broken");
  });
  const { client, states } = connect([address], { maxBackoffMs: 10 });
  await client.greet({});
  failed.resolve();
  await eventually(states).toEqual(["failing"]);
  expect((await failureOf(client.greet({}))).rawMessage).toContain(`${address}: health check failed: it is broken`);
  resumed.resolve();
  await eventually(states).toEqual(["ready"]);
});

it("a server that sends statuses without pause leaves time for other work", async () => {
  let statuses = 0;
  async function* messages() {
    for (let sent = 0; sent < 10_000; sent++) yield { bytes: Uint8Array.of(8, 1 + (sent % 2)) };
  }
  const call = async () => ({ stream: true, messages: messages(), headers: new Metadata(), trailers: new Metadata() });
  const owner = { onStatus: () => statuses++, onUnimplemented() {}, onUnconnected() {} };
  const watches = createWatches(() => call as unknown as Call);
  onTestFinished(watches.health({} as EndpointConnections, SERVICE, owner));
  for (let turns = 0; turns < 10; turns++) await new Promise((resolve) => setImmediate(resolve));
  expect(statuses).toBeGreaterThan(1);
  expect(statuses).toBeLessThan(200);
});

it("a watch that the server ends is repeated, and its status stays meanwhile", async () => {
  let watches = 0;
  const { address } = await startWatched(async function* () {
    watches++;
    yield { status: SERVING };
  });
  const { client, events } = connect([address], { maxBackoffMs: 10 });
  await client.greet({});
  await eventually(() => watches).toBeGreaterThan(3);
  expect(events.flatMap((event) => ("state" in event ? event.state : []))).toEqual(["ready"]);
});

describe("the end", () => {
  it("of a server loses no call, and its return is noticed at once", async () => {
    const port = await freePort();
    const [one, two] = await Promise.all([startNamed("one", port), startNamed("two")]);
    const { client, states, answers } = connect([one.address, two.address]);
    await client.greet({});
    await eventually(states).toEqual(["ready", "ready"]);
    const closed = one.close();
    expect(await answers()).toContain("two");
    await closed;
    await eventually(states).not.toContain("idle");
    expect(await answers()).toBe("two");
    await startNamed("three", port);
    await eventually(states).toEqual(["ready", "ready"]);
    expect(await answers()).toBe("three,two");
  });

  it("of a server does not wait for watches that do not end themselves", async () => {
    const { server, address } = await startWatched(serve);
    const { client } = connect([address]);
    await client.greet({});
    await server.close({ graceMs: 600_000 });
  });

  it("of a connection ends its watch, and the next connection has another, also if it was not serving", async () => {
    const one = await startNamed("one");
    const proxy = await cuttableProxy(Number(one.address.split(":")[1]));
    const { client, states, answers, events } = connect([proxy.address]);
    await client.greet({});
    proxy.cut();
    const history = () => events.flatMap((event) => ("state" in event ? event.state : []));
    await eventually(history).toEqual(["ready", "idle", "ready"]);
    one.health.set(SERVICE, "not_serving");
    await eventually(states).toEqual(["failing"]);
    proxy.cut();
    await eventually(history).toEqual(["ready", "idle", "ready", "failing", "idle", "failing"]);
    one.health.set(SERVICE, "serving");
    await eventually(states).toEqual(["ready"]);
    expect(await answers()).toBe("one");
  });

  it("of a transport does not wait for its watches", async () => {
    const one = await startNamed("one");
    const { client, transport } = connect([one.address]);
    await client.greet({});
    await transport.close({ graceMs: 600_000 });
  });

  it("of a program does not wait for its watches", async () => {
    const watched = signalled();
    const { address } = await startWatched((request, context) => {
      watched.resolve();
      return serve(request, context);
    });
    const program = `
      import { fixed } from "triple-es/discovery";
      import { createHealthClient } from "triple-es/health";
      import { createTransport } from "triple-es/node";
      const serviceConfig = { healthCheckConfig: { serviceName: "" } };
      const transport = createTransport({ resolver: fixed(["${address}"]), serviceConfig });
      await createHealthClient(transport).check({});
    `;
    const flags = ["--conditions=triple-source", "--import", "tsx", "--input-type=module", "--eval", program];
    const child = spawn(process.execPath, flags, { cwd: ROOT, stdio: "inherit" });
    onTestFinished(() => void child.kill("SIGKILL"));
    expect((await once(child, "exit"))[0]).toBe(0);
    await watched.promise;
  });
});

describe("an idle client", () => {
  it("closes its connection although it is watched, and a later call connects and watches again", async () => {
    let watches = 0;
    let open = 0;
    const { address } = await startWatched(async function* (request, context) {
      watches++;
      open++;
      try {
        yield* serve(request, context);
      } finally {
        open--;
      }
    });
    const { client, transport, states } = connect([address], { idleTimeoutMs: 100 });
    await client.greet({});
    expect(transport.endpoints()[0]?.active).toBe(0);
    await eventually(() => open).toBe(0);
    expect(states()).toEqual(["ready"]);
    const before = watches;
    // A watch that began less than a second before its connection was closed ends later.
    await eventually(async () => {
      await client.greet({});
      return watches;
    }).toBeGreaterThan(before);
  });

  it("watches an endpoint that is not serving on a new connection", async () => {
    let watches = 0;
    const { address } = await startWatched(async function* (_, { signal }) {
      watches++;
      yield { status: watches < 3 ? ServingStatus.NOT_SERVING : SERVING };
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    });
    const { client, states } = connect([address], { idleTimeoutMs: 100 });
    expect((await failureOf(client.greet({}))).rawMessage).toContain("NOT_SERVING");
    await eventually(states).toEqual(["ready"]);
    expect(watches).toBe(3);
  });
});

it("streams that are open on a connection do not include its watch", async () => {
  const { address } = await startWatched(serve);
  const { client, transport } = connect([address], { maxConnections: 1 });
  const stream = client
    .greetOnArrival(
      (async function* () {
        yield { name: "a" };
        await new Promise(() => {});
      })(),
    )
    [Symbol.asyncIterator]();
  await stream.next();
  expect(transport.endpoints()[0]?.active).toBe(1);
  await stream.return?.();
  await eventually(() => transport.endpoints()[0]?.active).toBe(0);
});

it("pick first and HTTP/1.1 watch no health", async () => {
  const one = await startNamed("one");
  one.health.set(SERVICE, "not_serving");
  for (const options of [{ balancer: pickFirst() }, { protocol: "http-rpc", httpVersion: "1.1" }] as const) {
    expect((await connect([one.address], options).client.greet({})).greeting).toBe("one");
  }
});

it("JSON, wrapped messages and HTTP RPC over HTTP/2 watch with gRPC and protobuf", async () => {
  const one = await startNamed("one");
  one.health.set(SERVICE, "not_serving");
  for (const options of [
    { codec: "json" },
    { wrapperContentType: "application/triple+wrapper" },
    { protocol: "http-rpc", httpVersion: "2" },
  ] as const) {
    const { client } = connect([one.address], options);
    expect((await failureOf(client.greet({}))).rawMessage).toContain("NOT_SERVING");
  }
});

it("a resolver's service config begins, changes and ends the watch, without new connections", async () => {
  const one = await startNamed("one");
  one.health.set(SERVICE, "not_serving");
  let configure: (config: unknown) => void = () => {};
  const resolver: Resolver = async function* (context) {
    configure = context.configure;
    yield [{ address: one.address }];
  };
  const { client, states, events } = connect([one.address], { resolver, serviceConfig: undefined });
  expect((await client.greet({})).greeting).toBe("one");
  configure(WATCHED);
  await eventually(states).toEqual(["failing"]);
  configure({ healthCheckConfig: { serviceName: "" } });
  await eventually(states).toEqual(["ready"]);
  configure(WATCHED);
  await eventually(states).toEqual(["failing"]);
  configure({ healthCheckConfig: { serviceName: 7 } });
  expect(events.at(-1)).toEqual({
    type: "invalid service config",
    problem: "healthCheckConfig.serviceName must be a text, not 7",
  });
  expect(states()).toEqual(["failing"]);
  configure({});
  expect((await client.greet({})).greeting).toBe("one");
  expect(events.filter(({ type }) => type === "endpoint").map((event) => "state" in event && event.state)).toEqual([
    "ready",
    "failing",
    "ready",
    "failing",
    "ready",
  ]);
});
