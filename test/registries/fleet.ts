/** Providers and consumers of the cells, and the load between them. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { RpcError } from "triple-es";
import type { Registration, Registry, TargetEvent } from "triple-es/discovery";
import {
  type BalancedTransport,
  createServer,
  createTransport,
  type RegistryTransportOptions,
  type Server,
} from "triple-es/node";
import { type RegisterOptions, register } from "triple-es-dubbo";
import { type Rules, rules } from "triple-es-dubbo/rules";
import { expect, onTestFinished } from "vitest";
import { mainThreadNanoseconds } from "../../bench/cpu-time.ts";
import {
  createGreetServiceClient,
  type GreetServiceClient,
  GreetServiceDef,
} from "../../examples/gen/greet/v1/greet_triple.ts";
import { ROOT } from "../support/documents.ts";

export interface Provider {
  readonly server: Server;
  readonly registration: Registration;
  readonly address: string;
  /** The calls it has executed, by name of the greeted. */
  readonly executed: string[];
}

const unused = (): never => {
  throw new Error("only greet is called");
};

/** Starts a provider in this process. It answers with its address, and is closed when the test is over. */
export async function startProvider(
  registry: Registry,
  options: Partial<RegisterOptions> & {
    readonly listenPort?: number;
    readonly group?: string;
    readonly version?: string;
    /** Time that a call takes, in milliseconds. */
    readonly delayMs?: number;
  } = {},
): Promise<Provider> {
  const { listenPort = 0, group, version, delayMs = 0, ...registering } = options;
  const executed: string[] = [];
  const server: Server = createServer().add(
    GreetServiceDef,
    {
      greet: async ({ name }) => {
        executed.push(name);
        if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
        return { greeting: `127.0.0.1:${server.address.port}` };
      },
      greetEach: unused,
      greetTogether: unused,
      greetOnArrival: unused,
    },
    { group, version },
  );
  await server.listen({ port: listenPort, host: "127.0.0.1" });
  const registration = register(server, registry, {
    application: "shop",
    warmUp: false,
    propagationMs: 300,
    ...registering,
  });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return { server, registration, address: `127.0.0.1:${server.address.port}`, executed };
}

export interface Consumer {
  readonly client: GreetServiceClient;
  readonly transport: BalancedTransport;
  readonly events: TargetEvent[];
  /** The addresses that the registry lists for the consumer, sorted. */
  addresses(): string[];
}

/** Opens a consumer, which is closed when the test is over. */
export function openConsumer(registry: Registry, options: Partial<RegistryTransportOptions> = {}): Consumer {
  return openConsumerOf((onEndpoint) => createTransport({ registry, onEndpoint, ...options }));
}

/** Opens a consumer with a transport that calls the hook. */
export function openConsumerOf(open: (onEndpoint: (event: TargetEvent) => void) => BalancedTransport): Consumer {
  const events: TargetEvent[] = [];
  const transport = open((event) => events.push(event));
  onTestFinished(() => transport.close({ graceMs: 0 }));
  const addresses = (): string[] =>
    transport
      .endpoints()
      .filter(({ listed }) => listed)
      .map(({ address }) => address)
      .sort();
  return { client: createGreetServiceClient(transport), transport, events, addresses };
}

export interface Load {
  readonly made: number;
  readonly lost: readonly RpcError[];
}

/** Callers that call one after the other until they are stopped. */
export function startLoad(
  { client }: Consumer,
  callers = 10,
  timeoutMs = 10_000,
): { stop(): Promise<Load>; readonly made: () => number } {
  let isStopped = false;
  let made = 0;
  const lost: RpcError[] = [];
  const running = Array.from({ length: callers }, async (_, caller) => {
    while (!isStopped) {
      const name = `${caller}-${made++}`;
      await client.greet({ name }, { timeoutMs }).catch((error: unknown) => lost.push(RpcError.from(error)));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });
  return {
    made: () => made,
    async stop() {
      isStopped = true;
      await Promise.all(running);
      return { made, lost };
    },
  };
}

export interface ProviderProcess {
  readonly address: string;
  readonly child: ChildProcess;
}

/** Starts a provider in a process of its own, and waits until it is registered. */
export function startProviderProcess(kind: string, registry: string, application: string): Promise<ProviderProcess> {
  const flags = ["--conditions=triple-source", "--import", "tsx", join(ROOT, "test/registries/provider.ts")];
  const child = spawn(process.execPath, [...flags, kind, registry, application], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => {
    child.kill("SIGCONT");
    child.kill("SIGKILL");
  });
  return new Promise((resolve, reject) => {
    let printed = "";
    child.stdout?.on("data", (data) => {
      printed += data;
      const [, port] = /READY (\d+)/.exec(printed) ?? [];
      if (port !== undefined) resolve({ address: `127.0.0.1:${port}`, child });
    });
    child.once("exit", (code) => reject(new Error(`the provider has ended with ${code}: ${printed}`)));
  });
}

/** Measures the time until a condition holds, in milliseconds. Throws if it does not hold within a bound. */
export async function timeUntil(isMet: () => boolean | Promise<boolean>, boundMs: number): Promise<number> {
  const start = performance.now();
  while (!(await isMet())) {
    if (performance.now() - start > boundMs) throw new Error(`not within ${boundMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return performance.now() - start;
}

/**
 * Watches for blocks of the event loop. Returns the function that ends the watch, which returns the longest block in
 * milliseconds of CPU time: other programs and processes of the registry use the machine, too.
 */
export function watchBlocks(): () => number {
  let longest = 0;
  let last = mainThreadNanoseconds() ?? Number.NaN;
  const timer = setInterval(() => {
    const now = mainThreadNanoseconds() ?? Number.NaN;
    longest = Math.max(longest, (now - last) / 1e6);
    last = now;
  }, 5);
  return () => {
    clearInterval(timer);
    return longest;
  };
}

/** Makes the first call of a transport, and measures the time until it has its endpoints, in milliseconds. */
export function timeList({ endpoints }: BalancedTransport, call: () => Promise<unknown>): Promise<number> {
  call().catch(() => {});
  return timeUntil(() => endpoints().length > 0, 20_000);
}

/**
 * Changes the tag rule of the application `tagged`, and checks the calls of a consumer: a change is live within a second, and
 * a malformed text changes nothing. Then sets the weight of a provider by its dynamic configuration: the provider registers
 * again, and takes its own weight back. `write` replaces the text of a rule; `undefined` removes it.
 */
export async function checkRules(
  openRegistry: (options?: { readonly rules: Rules }) => Registry,
  write: (key: string, text: string | undefined) => Promise<unknown>,
): Promise<void> {
  const own = { application: "tagged", group: "tagged" };
  const failures: unknown[] = [];
  const plain = await startProvider(openRegistry({ rules: rules({ application: "tagged" }) }), {
    ...own,
    onRegistration: (event) => void (event.type === "failed" && failures.push(event.error)),
  });
  const gray = await startProvider(openRegistry(), { ...own, attributes: { "dubbo.tag": "gray" } });
  await Promise.all([plain.registration.ready, gray.registration.ready]);
  const registry = openRegistry({ rules: rules({ application: "web" }) });
  const { transport, events, addresses } = openConsumer(registry);
  const client = createGreetServiceClient(transport, { group: "tagged" });
  const call = async (tag?: string): Promise<string> =>
    (await client.greet({ name: "x" }, { headers: tag === undefined ? {} : { "dubbo.tag": tag } })).greeting;
  await call().catch(() => {});
  await timeUntil(() => addresses().length === 2, 10_000);
  expect([await call(), await call("gray")]).toEqual([plain.address, gray.address]);

  const key = "tagged.tag-router";
  const text = `configVersion: v3.0\ntags: [{ name: blue, addresses: ["${plain.address}"] }]\n`;
  await write(key, text);
  const liveMs = await timeUntil(async () => (await call("blue")) === plain.address && (await fails(call())), 5_000);
  await write(key, "tags: [");
  const reportedMs = await timeUntil(() => events.some(({ type }) => type === "invalid endpoint"), 5_000);
  expect(await fails(call())).toBe(true);
  await write(key, undefined);
  const goneMs = await timeUntil(async () => !(await fails(call())), 5_000);
  expect(await call()).toBe(plain.address);
  const times = [liveMs, reportedMs, goneMs].map(Math.round);
  figure(
    `a rule is live after ${times[0]} ms, a malformed one reported after ${times[1]} ms, and none after ${times[2]} ms`,
  );
  expect(Math.max(...times)).toBeLessThan(1_000);

  const weights = (): string =>
    [plain, gray].map(({ address }) => transport.endpoints().find((one) => one.address === address)?.weight).join();
  expect(weights()).toBe("100,100");
  const item = `{ side: provider, addresses: ["${plain.address}"], parameters: { weight: 20 } }`;
  for (const [name, head] of [
    ["tagged", "scope: application, key: tagged"],
    ["greet.v1.GreetService::tagged", "key: tagged/greet.v1.GreetService"],
  ]) {
    await write(`${name}.configurators`, `{ ${head}, configs: [${item}] }`);
    const weighedMs = await timeUntil(() => weights() === "20,100", 5_000);
    await write(`${name}.configurators`, undefined);
    const restoredMs = await timeUntil(() => weights() === "100,100", 5_000);
    const [weighed, restored] = [weighedMs, restoredMs].map(Math.round);
    figure(`a weight of a provider by ${name} is live after ${weighed} ms, and taken back after ${restored} ms`);
  }
  expect(failures).toEqual([]);
}

/** Reports whether the rules leave no endpoint for a call. */
async function fails(call: Promise<unknown>): Promise<boolean> {
  const error = await call.then(
    () => undefined,
    (reason: RpcError) => reason,
  );
  return error?.rawMessage.startsWith("the traffic rules leave no endpoint") ?? false;
}

/** Prints a figure of a cell. */
export function figure(text: string): void {
  console.log(`  ${text}`);
}
