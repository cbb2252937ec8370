/** Service configs in gRPC's JSON: their effect on each method, and invalid configs. */
import fc from "fast-check";
import { type Call, Code, type RpcError } from "triple-es";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { GreetService_greet } from "../../examples/gen/greet/v1/greet_triple.ts";
import type { CallRequest, Method } from "../../runtime/src/call/call.ts";
import { type AttemptPolicy, resolvePolicy } from "../../runtime/src/client/attempt-policy.ts";
import { type CallOverrides, configureCalls } from "../../runtime/src/client/configured.ts";
import { type MethodConfig, parseServiceConfig, type ServiceConfig } from "../../runtime/src/client/service-config.ts";
import { answer, idempotent, outcomeOf, unary, unavailable } from "./retry-calls.ts";

const RETRY_POLICY = {
  maxAttempts: 3,
  initialBackoff: "0.1s",
  maxBackoff: "1s",
  backoffMultiplier: 2,
  retryableStatusCodes: ["UNAVAILABLE", 10],
};
const method = (service: string, name: string): Method => ({ ...idempotent, service, name });

describe("a method config", () => {
  const { methodConfigOf } = parseServiceConfig({
    methodConfig: [
      { name: [{ service: "a.A", method: "One" }, { service: "b.B" }], timeout: "1.5s" },
      { name: [{ service: "a.A" }], timeout: "20s", waitForReady: true },
      { name: [{}], retryPolicy: RETRY_POLICY },
    ],
  });

  it("is that of the method, else of its service, else of all", () => {
    expect(methodConfigOf(method("a.A", "One"))).toMatchObject({ timeoutMs: 1_500, waitForReady: undefined });
    expect(methodConfigOf(method("a.A", "Two"))).toMatchObject({ timeoutMs: 20_000, waitForReady: true });
    expect(methodConfigOf(method("b.B", "One"))).toMatchObject({ timeoutMs: 1_500 });
    expect(methodConfigOf(method("c.C", "One"))?.policy).toEqual({
      maxAttempts: 3,
      codes: new Set([Code.Unavailable, Code.Aborted]),
      initialBackoffMs: 100,
      maxBackoffMs: 1_000,
      backoffMultiplier: 2,
    });
  });

  it("is undefined if no name matches", () => {
    expect(parseServiceConfig("{}").methodConfigOf(method("a.A", "One"))).toBeUndefined();
  });
});

describe("the rest of a config", () => {
  it("is read from text too, and unknown members are ignored", () => {
    const config = parseServiceConfig(`{
      "loadBalancingConfig": [{ "xds": {} }, { "round_robin": {} }],
      "retryThrottling": { "maxTokens": 10, "tokenRatio": 0.1 },
      "healthCheckConfig": { "serviceName": "" }
    }`);
    expect(config.loadBalancing).toEqual([
      { name: "xds", config: {} },
      { name: "round_robin", config: {} },
    ]);
    expect(config.retryThrottling).toEqual({ maxTokens: 10, tokenRatio: 0.1 });
    expect(config.healthCheckService).toBe("");
  });

  it("has no health check without the name of a service, which may be empty", () => {
    expect(parseServiceConfig({}).healthCheckService).toBeUndefined();
    expect(parseServiceConfig({ healthCheckConfig: {} }).healthCheckService).toBeUndefined();
    expect(parseServiceConfig({ healthCheckConfig: { serviceName: "a.A" } }).healthCheckService).toBe("a.A");
  });

  it("names the policy in the older member too", () => {
    expect(parseServiceConfig({ loadBalancingPolicy: "ROUND_ROBIN" }).loadBalancing).toEqual([
      { name: "round_robin", config: {} },
    ]);
  });
});

describe("an invalid config", () => {
  const withPolicy = (change: object): object => ({
    methodConfig: [{ name: [{}], retryPolicy: { ...RETRY_POLICY, ...change } }],
  });
  const withHedging = (change: object): object => ({
    methodConfig: [{ name: [{}], hedgingPolicy: { maxAttempts: 2, ...change } }],
  });

  it.each<[unknown, string]>([
    ["{", "the service config is not JSON: "],
    ["[]", "the service config must be an object"],
    [{ methodConfig: {} }, "methodConfig must be an array"],
    [{ methodConfig: [1] }, "methodConfig[0] must be an object"],
    [{ methodConfig: [{ name: [{ method: "One" }] }] }, 'methodConfig[0].name: method "One" needs a service'],
    [{ methodConfig: [{ name: [{ service: 1 }] }] }, "methodConfig[0].name must have texts for service and method"],
    [{ methodConfig: [{ name: [{}] }, { name: [{}] }] }, "methodConfig[1].name: the default has a config already"],
    [
      { methodConfig: [{ name: [{}], timeout: "1" }] },
      'methodConfig[0].timeout must be a duration such as "1.5s", not "1"',
    ],
    [{ methodConfig: [{ name: [{}], timeout: "-1s" }] }, "methodConfig[0].timeout must be a duration"],
    [
      { methodConfig: [{ name: [{}], waitForReady: 1 }] },
      "methodConfig[0].waitForReady must be in [true,false], not 1",
    ],
    [
      { methodConfig: [{ name: [{}], retryPolicy: RETRY_POLICY, hedgingPolicy: { maxAttempts: 2 } }] },
      "methodConfig[0] must not have both retryPolicy and hedgingPolicy",
    ],
    [withPolicy({ maxAttempts: 1 }), "methodConfig[0].retryPolicy: maxAttempts must be an integer from 2 to 5, not 1"],
    [withPolicy({ maxAttempts: "3" }), "methodConfig[0].retryPolicy: maxAttempts must be"],
    [withPolicy({ initialBackoff: "0s" }), "methodConfig[0].retryPolicy.initialBackoff must be more than 0, not 0"],
    [withPolicy({ maxBackoff: undefined }), "methodConfig[0].retryPolicy.maxBackoff must be a duration"],
    [withPolicy({ backoffMultiplier: 0 }), "methodConfig[0].retryPolicy.backoffMultiplier must be more than 0, not 0"],
    [withPolicy({ retryableStatusCodes: [] }), "methodConfig[0].retryPolicy.retryableStatusCodes must name a code"],
    [withPolicy({ retryableStatusCodes: ["OK"] }), '"OK" is not a code of a failure'],
    [withHedging({ maxAttempts: 0 }), "methodConfig[0].hedgingPolicy: maxAttempts must be"],
    [withHedging({ hedgingDelay: 5 }), "methodConfig[0].hedgingPolicy.hedgingDelay must be a duration"],
    [withHedging({ nonFatalStatusCodes: [17] }), "17 is not a code of a failure"],
    [{ healthCheckConfig: "a.A" }, "healthCheckConfig must be an object"],
    [{ healthCheckConfig: { serviceName: 7 } }, "healthCheckConfig.serviceName must be a text, not 7"],
    [{ retryThrottling: { maxTokens: 10 } }, "retryThrottling: tokenRatio must be more than 0, not undefined"],
    [{ loadBalancingConfig: [{}] }, "loadBalancingConfig[0] must have one member, a policy's name"],
    [{ loadBalancingConfig: [{ a: {}, b: {} }] }, "loadBalancingConfig[0] must have one member, a policy's name"],
    [{ loadBalancingConfig: [{ a: 1 }] }, "loadBalancingConfig[0].a must be an object"],
  ])("%j is refused with its place", (config, message) => {
    expect(() => parseServiceConfig(config)).toThrow(TypeError);
    expect(() => parseServiceConfig(config)).toThrow(message);
  });

  const member = fc.constantFrom(
    ...["methodConfig", "name", "service", "method", "timeout", "waitForReady", "retryPolicy", "hedgingPolicy"],
    ...["maxAttempts", "hedgingDelay", "nonFatalStatusCodes", "retryThrottling", "loadBalancingConfig"],
  );
  const leaf = fc.oneof(
    fc.constant(null),
    fc.boolean(),
    fc.double(),
    fc.string(),
    fc.constantFrom("1s", "UNAVAILABLE"),
  );
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { depthSize: "medium" },
      leaf,
      fc.array(tie("tree"), { maxLength: 3 }),
      fc.dictionary(member, tie("tree"), { maxKeys: 4 }),
    ),
  }));

  it("is a TypeError and nothing else for any value, and a valid one applies to every method", () => {
    fc.assert(
      fc.property(fc.oneof(tree, fc.jsonValue(), fc.string()), (given) => {
        try {
          void parseServiceConfig(given).methodConfigOf(idempotent)?.timeoutMs;
        } catch (error) {
          expect(error).toBeInstanceOf(TypeError);
        }
      }),
      { numRuns: 3_000 },
    );
  });
});

describe("calls under a config", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });
  afterEach(() => {
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  /** Configures calls that fail or never end. Returns their requests. */
  function configured(config: object, outcome: "fails" | "hangs" | "answers"): { call: Call; requests: CallRequest[] } {
    const requests: CallRequest[] = [];
    const parsed = parseServiceConfig(config);
    const call = configureCalls(
      async (request) => {
        requests.push(request);
        if (outcome === "fails") throw unavailable();
        return outcome === "answers" ? answer() : new Promise(() => {});
      },
      () => parsed,
    );
    return { call, requests };
  }
  const all = (config: object): object => ({ methodConfig: [{ name: [{}], ...config }] });

  it("have its time limit, unless their own is shorter", async () => {
    const { call, requests } = configured(all({ timeout: "2s" }), "hangs");
    const outcome = outcomeOf(call(unary()));
    await vi.advanceTimersByTimeAsync(1_999);
    expect(outcome).toEqual({});
    await vi.advanceTimersByTimeAsync(1);
    expect(outcome.error).toMatchObject({ code: Code.DeadlineExceeded });
    expect(requests[0]?.context.signal?.aborted).toBe(true);
    const own = unary({ timeoutMs: 500 });
    void call(own);
    expect(requests[1]?.context).toBe(own.context);
    own.context.close();
  });

  it("wait for ready, unless a call overrides it", async () => {
    const { call, requests } = configured(all({ waitForReady: true }), "answers");
    await call(unary());
    expect(requests[0]?.context.waitForReady).toBe(true);
  });

  it("are retried regardless of the idempotency of their method, and hedged only if it is idempotent", async () => {
    const { idempotency: _, ...once } = idempotent;
    const retried = configured(all({ retryPolicy: RETRY_POLICY }), "fails");
    const outcome = outcomeOf(retried.call(unary({ method: once as Method })));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(outcome.error).toBeDefined();
    expect(retried.requests).toHaveLength(3);
    const hedged = configured(all({ hedgingPolicy: { maxAttempts: 3, hedgingDelay: "0s" } }), "answers");
    await hedged.call(unary({ method: once as Method }));
    expect(hedged.requests).toHaveLength(1);
    await hedged.call(unary());
    expect(hedged.requests).toHaveLength(4);
  });

  it("share the tokens of its throttling", async () => {
    const throttling = { retryThrottling: { maxTokens: 2, tokenRatio: 0.1 } };
    const { call, requests } = configured({ ...throttling, ...all({ retryPolicy: RETRY_POLICY }) }, "fails");
    const outcome = outcomeOf(call(unary()));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(outcome.error).toBeDefined();
    expect(requests).toHaveLength(1);
  });

  it("have the default budget of the option retry without throttling, and at most five attempts", async () => {
    const policy = { ...RETRY_POLICY, maxAttempts: 50, maxBackoff: "0.1s" };
    const { call, requests } = configured(all({ retryPolicy: policy }), "fails");
    const run = async (calls: number): Promise<RpcError[]> => {
      const outcomes = Array.from({ length: calls }, () => outcomeOf(call(unary())));
      await vi.advanceTimersByTimeAsync(2_000);
      return outcomes.map(({ error }) => error as RpcError);
    };
    await run(2);
    expect(requests).toHaveLength(10);
    const errors = await run(1_000);
    expect(requests.length).toBeLessThanOrEqual(1_002 + 100);
    expect(errors.at(-1)?.rawMessage).toMatch(/ \(not retried: the retry budget is used up: .*\)$/);
  });

  it("go by the config that is current when they begin, and keep the share of tokens across a change", async () => {
    let config = parseServiceConfig({
      retryThrottling: { maxTokens: 4, tokenRatio: 0.1 },
      ...all({ retryPolicy: RETRY_POLICY }),
    });
    let attempts = 0;
    const call = configureCalls(
      async () => {
        attempts++;
        throw unavailable();
      },
      () => config,
    );
    void outcomeOf(call(unary()));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(attempts).toBe(2);
    config = parseServiceConfig({
      retryThrottling: { maxTokens: 100, tokenRatio: 0.1 },
      ...all({ retryPolicy: RETRY_POLICY }),
    });
    void outcomeOf(call(unary()));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(attempts).toBe(3);
  });
});

describe("calls with values that a registry overrides", () => {
  const RETRIES_FOUR: AttemptPolicy = resolvePolicy({ maxAttempts: 4, initialBackoffMs: 1 });
  const configOf = (change: Partial<MethodConfig>): ServiceConfig => ({
    methodConfigOf: () => ({ timeoutMs: undefined, waitForReady: undefined, policy: undefined, ...change }),
    retryThrottling: undefined,
    loadBalancing: [],
  });

  /** Makes a call that fails. Returns its timeout and the number of its attempts. */
  async function callWith(
    overrides: CallOverrides | Promise<CallOverrides>,
    config?: ServiceConfig,
    options?: Parameters<typeof unary>[0],
  ) {
    const timeouts: (number | undefined)[] = [];
    const call = configureCalls(
      async ({ context }) => {
        const left = context.timeoutMs();
        timeouts.push(left === undefined ? left : Math.ceil(left / 10_000) * 10_000);
        throw unavailable();
      },
      () => config,
      { overridesOf: () => overrides },
    );
    const request = unary(options);
    await call(request).catch(() => {});
    request.context.close();
    return [timeouts[0], timeouts.length];
  }

  it.each<[CallOverrides, Partial<MethodConfig> | undefined, Parameters<typeof unary>[0], unknown[]]>([
    [{}, undefined, {}, [undefined, 1]],
    [{ timeoutMs: 60_000 }, undefined, {}, [60_000, 1]],
    [{ timeoutMs: 60_000 }, { timeoutMs: 30_000 }, {}, [60_000, 1]],
    [{ timeoutMs: 60_000 }, undefined, { timeoutMs: 30_000 }, [30_000, 1]],
    [{ timeoutMs: 60_000 }, undefined, { timeoutMs: 90_000 }, [90_000, 1]],
    [{ timeoutMs: 60_000 }, { timeoutMs: 30_000 }, { timeoutMs: 90_000 }, [30_000, 1]],
    [{ retries: 1 }, undefined, {}, [undefined, 2]],
    [{ retries: 1 }, undefined, { method: GreetService_greet }, [undefined, 1]],
    [{ retries: 1 }, {}, {}, [undefined, 1]],
    [{ retries: 1 }, { policy: RETRIES_FOUR }, {}, [undefined, 2]],
    [{ retries: 0 }, { policy: RETRIES_FOUR, timeoutMs: 30_000 }, {}, [30_000, 1]],
    [{ retries: 9 }, { policy: RETRIES_FOUR }, {}, [undefined, 5]],
    [{ timeoutMs: 60_000 }, { policy: RETRIES_FOUR }, {}, [60_000, 4]],
    [{ defaults: { timeoutMs: 60_000, retries: 1 } }, undefined, {}, [60_000, 2]],
    [{ defaults: { timeoutMs: 60_000, retries: 1 } }, { policy: RETRIES_FOUR }, {}, [60_000, 4]],
    [{ defaults: { timeoutMs: 60_000, retries: 1 } }, { timeoutMs: 30_000 }, {}, [30_000, 1]],
    [{ timeoutMs: 90_000, defaults: { timeoutMs: 60_000 } }, undefined, {}, [90_000, 1]],
  ])(
    "%j over the config %j and the options %j: a timeout and attempts of %j",
    async (overrides, config, options, expected) => {
      expect(await callWith(overrides, config && configOf(config), options)).toEqual(expected);
    },
  );

  it("wait for values that are not known yet", async () => {
    expect(await callWith(Promise.resolve({ timeoutMs: 60_000, retries: 2 }))).toEqual([60_000, 3]);
    expect(await callWith(undefined, configOf({ timeoutMs: 30_000 }))).toEqual([30_000, 1]);
  });
});
