/** Targets whose endpoints are watched (gRFC A17), in simulated time: the test controls the health, the clock and the endpoints. */
import { Code, createRouter, RpcError } from "triple-es";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { defaultProtoCodec } from "../../runtime/src/codec/bounded-codec.ts";
import type { EndpointConnections } from "../../runtime/src/discovery/endpoint.ts";
import type { HealthOwner, TargetOptions, Watches } from "../../runtime/src/discovery/target-options.ts";
import { HealthDef } from "../../runtime/src/gen/grpc/health/v1/health_triple.ts";
import { createGrpcClient } from "../../runtime/src/grpc/client.ts";
import { ExchangeFailure } from "../../runtime/src/http/transparent-retry.ts";
import { createWatches } from "../../runtime/src/node/client/endpoint-watch.ts";
import { resolveClientOptions } from "../../runtime/src/protocol/options.ts";
import { signalled } from "../support/server.ts";
import { observedBy } from "./observed.ts";
import { createWorld, failureOf, request, settle } from "./world.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const sick = (text = "it is sick") => new RpcError(Code.Unavailable, text);

/** A target with one endpoint for each letter, and the watches of their health. */
async function watched(letters: string, options: Partial<TargetOptions> = {}) {
  const watches: { readonly service: string; readonly owner: HealthOwner; hasEnded: boolean }[] = [];
  const watchHealth: Watches["health"] = (_, service, owner) => {
    const watch = { service, owner, hasEnded: false };
    watches.push(watch);
    return () => {
      watch.hasEnded = true;
    };
  };
  const world = createWorld({
    watches: { health: watchHealth, load: () => () => {} },
    healthService: "greet",
    ...options,
  });
  world.lists.say(...Array.from(letters, (letter) => `${letter}:1`));
  world.target.wake();
  await settle();
  return { ...world, watches, health: (index: number) => watches[index]?.owner as HealthOwner };
}

describe("an endpoint whose health is watched", () => {
  it("is expected until its first status, and then takes calls", async () => {
    const { exchange, health, states, server } = await watched("a");
    const call = exchange(request());
    await settle(600_000);
    expect(states()).toEqual({ "a:1": "connecting" });
    expect(server("a:1").connects).toBe(1);
    health(0).onStatus(undefined);
    expect((await call).status).toBe(200);
  });

  it("does not count as a connection attempt: any number may be without a status", async () => {
    const many = createWorld({ watches: { health: () => () => {}, load: () => () => {} }, healthService: "greet" });
    many.lists.say(...Array.from({ length: 300 }, (_, index) => `h${index}:1`));
    many.target.wake();
    await settle();
    expect(Object.values(many.states()).filter((state) => state === "connecting").length).toBe(300);
  });

  it("fails with its reason, is not connected to again, and returns", async () => {
    const { exchange, health, states, server, events } = await watched("ab");
    health(0).onStatus(undefined);
    health(1).onStatus(sick());
    expect(states()).toEqual({ "a:1": "ready", "b:1": "failing" });
    health(0).onStatus(sick("it is sick too"));
    expect((await failureOf(exchange(request()))).rawMessage).toBe(
      "cannot reach greet: a:1: it is sick too; b:1: it is sick",
    );
    await settle(600_000);
    expect(server("a:1").connects + server("b:1").connects).toBe(2);
    health(1).onStatus(undefined);
    await exchange(request());
    expect(server("b:1").calls).toBe(1);
    expect(events.filter(({ type }) => type === "connection failed")).toEqual([]);
  });

  it("is connected to again when its connection is lost, with another watch", async () => {
    const { health, states, server, watches } = await watched("a");
    health(0).onStatus(sick());
    server("a:1").onReadiness(false);
    await settle();
    expect(watches.map(({ hasEnded }) => hasEnded)).toEqual([true, false]);
    expect(server("a:1").connects).toBe(2);
    health(1).onStatus(undefined);
    expect(states()).toEqual({ "a:1": "ready" });
  });

  it("is connected to with backoff if it is lost and cannot be reached", async () => {
    const { health, server, states } = await watched("a");
    health(0).onStatus(undefined);
    server("a:1").backoffMs = 60_000;
    server("a:1").lose();
    await settle(59_000);
    expect(server("a:1").connects).toBe(2);
    expect(states()).toEqual({ "a:1": "failing" });
    server("a:1").isUp = true;
    await settle(2_000);
    expect(server("a:1").connects).toBe(3);
  });

  it("keeps its state when an idle connection is closed, unless it is not healthy", async () => {
    const { health, server, states, watches } = await watched("ab");
    health(0).onStatus(undefined);
    health(1).onStatus(sick());
    health(0).onUnconnected();
    health(1).onUnconnected();
    await settle();
    expect(server("a:1").connects).toBe(1);
    expect(server("b:1").connects).toBe(2);
    expect(states()).toEqual({ "a:1": "ready", "b:1": "connecting" });
    server("a:1").onReadiness(true);
    expect(watches.length).toBe(4);
    health(3).onStatus(sick());
    expect(states()["a:1"]).toBe("failing");
  });

  it("is unchecked if it does not have the service, and watched on the next connection", async () => {
    const { health, server, states, watches, events } = await watched("a");
    health(0).onUnimplemented();
    expect(states()).toEqual({ "a:1": "ready" });
    server("a:1").onReadiness(false);
    await settle();
    health(1).onUnimplemented();
    expect(states()).toEqual({ "a:1": "ready" });
    expect(watches.length).toBe(2);
    expect(events.filter(({ type }) => type === "invalid endpoint").length).toBe(1);
  });

  it("is removed at once if the list has left it out, with its watch", async () => {
    const { health, lists, states, watches, server } = await watched("ab");
    health(0).onStatus(undefined);
    health(1).onStatus(undefined);
    lists.say("a:1");
    await settle();
    expect(Object.keys(states())).toEqual(["a:1", "b:1"]);
    health(1).onStatus(sick());
    expect(Object.keys(states())).toEqual(["a:1"]);
    expect(watches[1]?.hasEnded).toBe(true);
    expect(server("b:1").isClosed).toBe(true);
  });

  it("has no watch after the target was closed", async () => {
    const { target, watches } = await watched("ab");
    await target.close();
    expect(watches.map(({ hasEnded }) => hasEnded)).toEqual([true, true]);
  });
});

describe("a watch", () => {
  /** Watches a service of a router, and records the times of its calls, in seconds, and what it learns. */
  function begin(
    watch: (call: number) => AsyncIterable<{ status?: 0 | 1 | 2 | 3 }>,
    failure: () => ExchangeFailure | undefined = () => undefined,
  ) {
    const begun = performance.now();
    const first = signalled();
    const calls: number[] = [];
    const learned: string[] = [];
    const router = createRouter().add(HealthDef, {
      watch: () => watch(calls.push((performance.now() - begun) / 1_000)),
      check: () => ({}),
      list: () => ({}),
    });
    const connections = {
      observed: observedBy(async (sent) => {
        const reason = failure();
        if (reason !== undefined) throw reason;
        return router.exchange(sent);
      }),
    } as Pick<EndpointConnections, "observed"> as EndpointConnections;
    const options = resolveClientOptions({ codec: defaultProtoCodec, compressions: [] });
    const end = createWatches((exchange) => createGrpcClient(exchange, options)).health(connections, "greet", {
      onStatus: (failure) => {
        learned.push(failure?.rawMessage ?? "healthy");
        first.resolve();
      },
      onUnimplemented: () => void learned.push("unimplemented"),
      onUnconnected: () => void learned.push("unconnected"),
    });
    return { calls, learned, end, first: first.promise };
  }

  it("that fails without a status is repeated with backoff, from the beginning of each call", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    // biome-ignore lint/correctness/useYield: the call fails before its first message
    const { calls, learned, end, first } = begin(async function* () {
      throw new RpcError(Code.Internal, "it is broken");
    });
    await first;
    await settle(11_000);
    expect(calls).toEqual([0, 1, 2.6, 5.16, 9.256].map((time) => expect.closeTo(time, 1)));
    expect(new Set(learned)).toEqual(new Set(["health check failed: it is broken"]));
    end();
    await settle(60_000);
    expect(calls.length).toBe(5);
  });

  it("that the server resets before its headers has the reason", async () => {
    const { learned, end, first } = begin(
      async function* () {},
      () => new ExchangeFailure(sick("the server reset the stream"), "unknown"),
    );
    await first;
    end();
    expect(learned).toEqual(["health check failed: the server reset the stream"]);
  });

  it("that ends after a status is repeated a second after it began, or at once", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const { calls, learned, end, first } = begin(async function* (call) {
      yield { status: 1 };
      if (call === 3) await new Promise((resolve) => setTimeout(resolve, 3_000));
    });
    await first;
    await settle(6_500);
    expect(calls).toEqual([0, 1, 2, 5, 6].map((time) => expect.closeTo(time, 1)));
    expect(new Set(learned)).toEqual(new Set(["healthy"]));
    end();
  });

  it("names each status that is not SERVING, and ends with its connection", async () => {
    let isConnected = true;
    const { learned, first } = begin(
      async function* () {
        for (const status of [0, 1, 2, 3, 1] as const) yield { status };
        isConnected = false;
      },
      () => (isConnected ? undefined : new ExchangeFailure(sick("no connection"), "notSent")),
    );
    await first;
    await settle(10_000);
    expect(learned).toEqual([
      'the service "greet" has the status UNKNOWN',
      "healthy",
      'the service "greet" has the status NOT_SERVING',
      'the service "greet" has the status SERVICE_UNKNOWN',
      "healthy",
      "unconnected",
    ]);
  });
});
