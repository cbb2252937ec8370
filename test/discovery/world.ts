/**
 * The world of a target in tests: its resolver's lists, its servers and its clock are set by the test.
 */
import { Code, Metadata, RpcError, type TransparentRetryEvent } from "triple-es";
import { type Endpoint, type Resolver, roundRobin } from "triple-es/discovery";
import { onTestFinished, vi } from "vitest";
import { balance } from "../../runtime/src/discovery/balanced.ts";
import type { EndpointLimits } from "../../runtime/src/discovery/call-limiter.ts";
import { resolveEjection } from "../../runtime/src/discovery/ejection-options.ts";
import { TargetDriver } from "../../runtime/src/discovery/target.ts";
import type { TargetEvent, TargetOptions } from "../../runtime/src/discovery/target-options.ts";
import type { ZoneOptions } from "../../runtime/src/discovery/zone.ts";
import { emptyBody } from "../../runtime/src/http/body.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../../runtime/src/http/exchange.ts";
import { ExchangeFailure } from "../../runtime/src/http/transparent-retry.ts";
import { observedBy } from "./observed.ts";
import { seeded } from "./random.ts";

export const settle = (ms = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** A server that the test can stop and start. */
export class FakeServer {
  isUp = true;
  connects = 0;
  isClosed = false;
  /** The streams of closed connections, for which closing waits. */
  streams: Promise<void> | undefined;
  destroyed: RpcError | undefined;
  calls = 0;
  active = 0;
  backoffMs = 0;
  /** Checks of the endpoint, and whether they succeed. */
  checks = 0;
  answersChecks = true;
  /** Attempts to connect have no result before it resolves. `undefined`: they have it at once. */
  answered: Promise<void> | undefined;
  onReadiness: (isReady: boolean) => void = () => {};
  answer: Exchange = async () => response();

  lose(): void {
    this.isUp = false;
    this.onReadiness(false);
  }
}

export const response = (headers: Record<string, string> = {}, status = 200): HttpResponse => ({
  status,
  headers: new Metadata(headers),
  body: emptyBody,
  trailers: new Metadata(),
});

export const request = (change: Partial<HttpRequest> = {}): HttpRequest => ({
  method: "POST",
  path: "/a.B/C",
  version: "2",
  headers: new Metadata(),
  body: emptyBody,
  signal: undefined,
  ...change,
});

/** A resolver whose lists and failures the test sets. */
export class Lists {
  #news: ((one: readonly Endpoint[] | RpcError) => void) | undefined;
  #waiting: (readonly Endpoint[] | RpcError)[] = [];
  runs = 0;
  readonly resolver: Resolver = ({ signal }) => this.#resolve(signal);

  say(...addresses: (string | Endpoint)[]): void {
    this.#put(addresses.map((one) => (typeof one === "string" ? { address: one } : one)));
  }
  fail(text: string): void {
    this.#put(new RpcError(Code.Unavailable, text));
  }
  #put(one: readonly Endpoint[] | RpcError): void {
    if (this.#news === undefined) this.#waiting.push(one);
    else this.#news(one);
  }
  async *#resolve(signal: AbortSignal): AsyncGenerator<readonly Endpoint[], void> {
    this.runs++;
    while (!signal.aborted) {
      const one =
        this.#waiting.shift() ??
        (await new Promise<readonly Endpoint[] | RpcError>((resolve) => {
          this.#news = resolve;
          signal.addEventListener("abort", () => resolve([]));
        }));
      this.#news = undefined;
      if (one instanceof RpcError) throw one;
      yield one;
    }
  }
}

export interface World {
  readonly target: TargetDriver;
  readonly exchange: Exchange;
  readonly lists: Lists;
  readonly events: TargetEvent[];
  readonly retries: TransparentRetryEvent[];
  readonly server: (address: string) => FakeServer;
  readonly states: () => Record<string, string>;
}

export function createWorld(
  {
    random = seeded(1),
    ...options
  }: Partial<TargetOptions> & ZoneOptions & EndpointLimits & { readonly random?: () => number } = {},
  resolver?: Resolver,
): World {
  const randomNumbers = vi.spyOn(Math, "random").mockImplementation(random);
  onTestFinished(() => randomNumbers.mockRestore());
  const servers = new Map<string, FakeServer>();
  const server = (address: string): FakeServer => {
    const known = servers.get(address) ?? new FakeServer();
    servers.set(address, known);
    return known;
  };
  const lists = new Lists();
  const events: TargetEvent[] = [];
  const target = new TargetDriver(
    resolver ?? lists.resolver,
    ({ address }, onReadiness) => {
      const one = server(address);
      one.onReadiness = onReadiness;
      const refused = new RpcError(Code.Unavailable, `${address} refuses`);
      const exchange: Exchange = async (sent) => {
        if (!one.isUp) throw new ExchangeFailure(refused, "notSent");
        one.calls++;
        return one.answer(sent);
      };
      return {
        get active() {
          return one.active;
        },
        get backoffMs() {
          return one.backoffMs;
        },
        async connect() {
          one.connects++;
          await one.answered;
          if (!one.isUp) throw refused;
        },
        async check() {
          one.checks++;
          return one.isUp && one.answersChecks;
        },
        observed: observedBy(exchange),
        async close() {
          one.isClosed = true;
          await one.streams;
        },
        destroy(reason) {
          one.isClosed = true;
          one.destroyed = reason;
        },
      };
    },
    {
      name: "greet",
      balancer: roundRobin({ random: () => 0 }),
      subset: undefined,
      keepUnlistedMs: 300_000,
      idleTimeoutMs: 900_000,
      warmUpMs: undefined,
      ejection: resolveEjection(undefined),
      onEvent: (event) => events.push(event),
      ...options,
    },
  );
  const states = (): Record<string, string> =>
    Object.fromEntries(target.endpoints().map(({ address, state }) => [address, state]));
  const retries: TransparentRetryEvent[] = [];
  const { maxRequestsPerEndpoint, maxPendingRequests } = options;
  const exchange = balance(target, {
    onTransparentRetry: (event) => retries.push(event),
    maxRequestsPerEndpoint,
    maxPendingRequests,
  });
  return { target, exchange, lists, events, retries, server, states };
}

/** Starts a target, applies its first list and connects its endpoints. */
export async function listed(
  addresses: readonly (string | Endpoint)[],
  options: Parameters<typeof createWorld>[0] = {},
): Promise<World> {
  const world = createWorld(options);
  world.lists.say(...addresses);
  await world.exchange(request());
  await settle();
  return world;
}

export const failureOf = (promise: Promise<unknown>): Promise<RpcError> =>
  promise.then(
    () => Promise.reject(new Error("the call was expected to fail")),
    (error: RpcError) => error,
  );
