/** Dynamic configuration. `npm run interop:rules` compares the same functions with Dubbo for Java. */

import type { Instance, RegistrationEvent } from "triple-es/discovery";
import { rules } from "triple-es-dubbo/rules";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { configured } from "../../../dubbo/src/registry/configured.ts";
import type { Text } from "../../../dubbo/src/registry/dubbo/source.ts";
import type { KeptRegistration } from "../../../dubbo/src/registry/registration.ts";
import type { Watcher } from "../../../dubbo/src/registry/watch.ts";
import {
  type Configurable,
  overridesOf,
  parseConfigurators,
  weightIn,
} from "../../../dubbo/src/rules/configurators.ts";

const consumer: Configurable = {
  side: "consumer",
  own: "10.0.0.1",
  host: "10.0.1.7",
  address: "10.0.1.7:50051",
  application: "web",
  service: "blue/greet.Greeter:1.0",
  parameters: new Map([["region", "hz"]]),
};
const provider: Configurable = { ...consumer, side: "provider", own: "10.0.1.7", application: "shop" };

const provider6: Partial<Configurable> = {
  side: "provider",
  own: "2001:db8::7",
  host: "2001:db8::7",
  address: "[2001:db8::7]:50051",
};
const consumer6: Partial<Configurable> = { ...provider6, side: "consumer", own: "0:0:0:0:0:0:0:1" };

/** Returns the weight that a text sets. */
function weightOf(text: string, subject: Configurable): number | undefined {
  return weightIn(overridesOf(parseConfigurators(text), subject));
}

const service = (item: string, head = "configVersion: v3.0, key: 'blue/greet.Greeter:1.0'") =>
  `{ ${head}, configs: [{ parameters: { weight: 7 }, ${item} }] }`;
const application = (item: string, key = "web") =>
  service(item, `configVersion: v3.0, scope: application, key: ${key}`);

describe("an item of dynamic configuration", () => {
  it.each([
    [service("side: consumer"), 7, undefined],
    [service("side: provider"), undefined, 7],
    [service("x: y"), undefined, undefined],
    [service("side: consumer", "configVersion: v3.0, key: greet.Greeter"), undefined, undefined],
    [service("side: consumer", "configVersion: v3.0, key: '*'"), 7, undefined],
    [service("side: consumer", "enabled: false, key: '*'"), undefined, undefined],
    [service("side: consumer, type: weight"), undefined, undefined],
    [service("side: consumer, type: weight, enabled: true"), 7, undefined],
    [service("side: consumer, addresses: [10.0.0.1]"), 7, undefined],
    [service("side: consumer, addresses: [10.0.0.2]"), undefined, undefined],
    [service("side: consumer, addresses: []"), 7, undefined],
    [service("side: provider, addresses: ['10.0.1.7:50051']"), undefined, 7],
    [service("side: provider, addresses: ['10.0.1.7:50052']"), undefined, undefined],
    [service("side: consumer, providerAddresses: ['10.0.1.7:50051']"), 7, undefined],
    [service("side: consumer, providerAddresses: ['0.0.0.0:50051']"), 7, undefined],
    [service("side: consumer, providerAddresses: ['0.0.0.0:50052', 10.0.1.8]"), undefined, undefined],
    [service("side: consumer, applications: [web]"), 7, undefined],
    [service("side: consumer, applications: [shop]"), undefined, undefined],
    [application("side: consumer"), 7, undefined],
    [application("side: provider", "shop"), undefined, 7],
    [application("side: consumer, services: ['blue/greet.Greeter:1.0']"), 7, undefined],
    [application("side: consumer, services: [greet.Other]"), undefined, undefined],
    [service("side: consumer, match: { address: { wildcard: '10.0.0.*' } }"), 7, undefined],
    [
      service("side: consumer, match: { address: { cird: 10.0.0.0/24 }, app: { oneof: [{ prefix: we }] } }"),
      7,
      undefined,
    ],
    [service("side: consumer, match: { providerAddress: { exact: '10.0.1.7:50052' } }"), undefined, undefined],
    [service("side: consumer, match: { service: { oneof: [{ exact: other }] } }"), undefined, undefined],
    [service("side: consumer, match: { param: [{ key: region, value: { exact: hz } }] }"), 7, undefined],
    [service("side: consumer, match: { param: [{ key: region, value: { exact: bj } }] }"), undefined, undefined],
    [service("side: provider, match: { address: { exact: 10.0.1.7 } }"), undefined, 7],
    ["{ key: '*', configs: [{ side: consumer, parameters: { '~region': hz, weight: 7 } }] }", 7, undefined],
    ["{ key: '*', configs: [{ side: consumer, parameters: { '~region': bj, weight: 7 } }] }", undefined, undefined],
    ["{ key: '*', configs: [] }", undefined, undefined],
  ])("selects its subjects: %s", (text, ofConsumer, ofProvider) => {
    expect([weightOf(text, consumer), weightOf(text, provider)]).toEqual([ofConsumer, ofProvider]);
  });

  it.each<[string, Partial<Configurable>, number | undefined]>([
    ["addresses: ['[2001:db8::7]:50051']", provider6, 7],
    ["addresses: ['2001:db8::7']", provider6, 7],
    ["addresses: ['[2001:0DB8:0:0:0:0:0:7]:50051']", provider6, 7],
    ["addresses: ['2001:db8:0:0:0:0:0:7']", provider6, 7],
    ["addresses: ['0.0.0.0:50051']", provider6, 7],
    ["addresses: ['[2001:db8::7]:50052']", provider6, undefined],
    ["addresses: ['2001:db8::8']", provider6, undefined],
    ["match: { address: { exact: '2001:DB8::7' } }", provider6, 7],
    ["match: { address: { cird: '2001:db8::/64' } }", provider6, 7],
    ["match: { providerAddress: { exact: '[2001:db8:0::7]:50051' } }", provider6, 7],
    ["match: { providerAddress: { exact: '2001:db8::7' } }", provider6, undefined],
    ["addresses: ['::1'], providerAddresses: ['[2001:db8::7]:50051']", consumer6, 7],
    ["addresses: ['[::1]:20880']", consumer6, 7],
    ["addresses: ['::2']", consumer6, undefined],
    ["providerAddresses: ['2001:db8::8']", consumer6, undefined],
  ])("compares IPv6 addresses in all their forms: %s", (item, subject, weight) => {
    expect(weightOf(service(`side: ${subject.side}, ${item}`), { ...consumer, ...subject })).toBe(weight);
  });

  it("for an address is applied after those for all addresses, others in their order", () => {
    const items = ["addresses: [10.0.0.1], parameters: { weight: 1 }", "parameters: { weight: 2, timeout: 5 }"];
    const text = `{ key: '*', configs: [${[...items, "parameters: { weight: 3 }"].map((one) => `{ side: consumer, ${one} }`)}] }`;
    expect([...overridesOf(parseConfigurators(text), consumer)]).toEqual([
      ["weight", "1"],
      ["timeout", "5"],
    ]);
    expect(weightOf(text, { ...consumer, own: "10.0.0.2" })).toBe(3);
  });

  it.each([
    ["[]", "the rule must be a mapping, not []"],
    ["configs: {}", "configs must be a list"],
    ["configs: [{ parameters: { a: b } }]", "it has no key"],
    ["{ key: a, configs: [1] }", "configs[0] must be a mapping, not 1"],
    ["{ key: a, configs: [{ side: consumer }] }", "configs[0].parameters must be a mapping, not empty"],
    ["{ key: a, configs: [{ parameters: {} }] }", "configs[0] has no parameters"],
    [
      "{ key: a, configVersion: v3.0, configs: [{ side: consumer, parameters: { a: { toString: 1 } } }] }",
      "configs[0].parameters must be texts or numbers",
    ],
    [
      "{ key: a, configs: [{ side: provider, parameters: { weight: heavy } }] }",
      'configs[0].parameters.weight must be an integer from 0 to 1,000,000, not "heavy"',
    ],
    [service("match: { address: {} }"), "configs[0].match.address must have one of cird, wildcard, exact"],
    [service("match: { app: { exact: a } }"), "configs[0].match.app.oneof must be a list"],
    [service("match: { param: {} }"), "configs[0].match.param must be a list"],
    [
      service("match: { param: [{ key: a, value: { regex: b } }] }"),
      "configs[0].match.param[0].value.regex is not supported, because an expression may stop the process: use exact or prefix",
    ],
  ])("is refused if it is malformed: %s", (text, reason) => {
    expect(() => parseConfigurators(text)).toThrow(new Error(reason));
  });
});

it.each([
  ["20", 20],
  ["0", 0],
  ["-1", undefined],
  ["1.5", undefined],
  ["many", undefined],
  ["", undefined],
  [" ", undefined],
])("the weight %s is %s", (text, weight) => {
  expect(weightIn(new Map([["weight", text]]))).toBe(weight);
});

/** Registers an instance with a rule in a config center of the test. */
function register(instance: Partial<Instance> = {}, texts: Readonly<Record<string, string>> = {}) {
  const weights: (number | undefined)[] = [];
  const ofServices: (string | undefined)[][] = [];
  const problems: string[] = [];
  const watchers: Watcher<string | undefined>[] = [];
  const keys: string[] = [];
  const stopped: unknown[] = [];
  const closings: number[] = [];
  const kept: KeptRegistration = {
    ready: Promise.resolve(),
    status: () => "registered",
    update: async ({ weight, services = [] }: Partial<Instance>) => {
      weights.push(weight);
      ofServices.push(services.map(({ parameters }) => parameters?.["weight"]));
    },
    close: async () => void closings.push(1),
  };
  const given: Instance = { application: "shop", host: "10.0.1.7", port: 50_051, services: [], ...instance };
  const rule = (key: string): Text => ({
    watch(watcher) {
      keys.push(key);
      watchers.push(watcher);
      return () => void stopped.push(watcher);
    },
    read: async () => undefined,
    change: async () => {},
  });
  const onEvent = (event: RegistrationEvent): void => {
    if (event.type === "failed") problems.push(event.error.rawMessage);
  };
  const registration = configured(kept, given, rules({ application: "shop", texts }), { rule }, onEvent);
  onTestFinished(() => registration.close());
  const set = (text: string | undefined, key = "shop.configurators"): void =>
    watchers[keys.lastIndexOf(key)]?.onValue(text);
  return { registration, weights, ofServices, problems, keys, watchers, stopped, set, closings };
}

const weightRule = (weight: number) => application(`side: provider, parameters: { weight: ${weight} }`, "shop");

describe("a provider with dynamic configuration", () => {
  it("is registered again with the weight of the rule, and with its own when the rule has ended", () => {
    const { weights, set, keys } = register({ weight: 50 });
    expect(keys).toEqual(["shop.configurators"]);
    set(undefined);
    expect(weights).toEqual([]);
    set(weightRule(7));
    set(weightRule(7));
    set(weightRule(0));
    set("");
    expect(weights).toEqual([7, 0, 50]);
  });

  it("gives its services the weights of their rules, which replace that of the application", () => {
    const services = [{ service: "greet.Greeter", group: "blue", version: "1.0" }, { service: "greet.Other" }];
    const { weights, ofServices, set, keys } = register({ services });
    const [greeter = "", other = ""] = keys.slice(1);
    expect([greeter, other]).toEqual(["greet.Greeter:1.0:blue.configurators", "greet.Other::.configurators"]);
    const set7 = "{ key: blue/greet.Greeter:1.0, configs: [{ side: provider, parameters: { weight: 7 } }] }";
    set(set7, greeter);
    set(set7, other);
    set(weightRule(50));
    set(application("side: provider, services: [greet.Other], parameters: { weight: 8 }", "shop"));
    set("", greeter);
    set("");
    expect(weights).toEqual([100, 50, 100, 100, 100]);
    expect(ofServices).toEqual([
      ["7", undefined],
      ["7", undefined],
      ["7", "8"],
      [undefined, "8"],
      [undefined, undefined],
    ]);
  });

  it("applies the texts of the option in place of those in the config center", async () => {
    const services = [{ service: "greet.Greeter" }, { service: "greet.Other" }];
    const text = "{ key: greet.Greeter, configs: [{ side: provider, parameters: { weight: 7 } }] }";
    const texts = { "shop.configurators": weightRule(50), "greet.Greeter::.configurators": text };
    const { registration, weights, ofServices, set, keys } = register({ services }, texts);
    expect(keys).toEqual(["greet.Other::.configurators"]);
    set("{ key: greet.Other, configs: [{ side: provider, parameters: { weight: 8 } }] }", keys[0]);
    await registration.close();
    expect(weights).toEqual([50, 50]);
    expect(ofServices).toEqual([
      ["7", undefined],
      ["7", "8"],
    ]);
  });

  it("may have an IPv6 address", () => {
    const { weights, set } = register({ host: "2001:db8::7" });
    set(application("side: provider, addresses: ['[2001:db8::7]:50051']", "shop"));
    expect(weights).toEqual([7]);
  });

  it("keeps the weight of the rule when the program changes its own", async () => {
    const { registration, weights, set } = register();
    set(weightRule(7));
    await registration.update({ weight: 30 });
    await registration.update({ attributes: { a: "b" } });
    set("");
    expect(weights).toEqual([7, 7, 7, 30]);
  });

  it("is chosen by its current attributes", async () => {
    const { registration, weights, set } = register({ attributes: { env: "gray" } });
    const match = "match: { param: [{ key: env, value: { exact: blue } }] }";
    set(application(`side: provider, ${match}, parameters: { weight: 7 }`, "shop"));
    await registration.update({ attributes: { env: "blue" } });
    await registration.update({ weight: 30 });
    await registration.update({ attributes: { env: "green" } });
    expect(weights).toEqual([7, 7, 30]);
  });

  it("describes each state of its services once", async () => {
    const services = [{ service: "greet.Greeter" }];
    const { registration, set, keys } = register({ services });
    const setWeight = (weight: number) =>
      set(`{ key: greet.Greeter, configs: [{ side: provider, parameters: { weight: ${weight} } }] }`, keys[1]);
    const described = () => registration.states?.().map((one) => one.services[0]?.parameters?.["weight"]);
    setWeight(7);
    for (let updates = 0; updates < 20; updates++) await registration.update({ attributes: { updates: `${updates}` } });
    expect(described()).toEqual([undefined, "7"]);
    setWeight(8);
    setWeight(7);
    expect(described()).toEqual([undefined, "8", "7"]);
  });

  it("keeps the last weight when a text is malformed, and reports that once", () => {
    const { weights, problems, set } = register();
    set(weightRule(7));
    set("configs: [");
    set("configs: [");
    expect(weights).toEqual([7]);
    expect(problems).toEqual([
      expect.stringMatching(/^the rule shop\.configurators is ignored, and the last one stays: it is not YAML/),
    ]);
  });

  it("watches the rule again after the registry was lost, until it is closed", async () => {
    const { registration, watchers, stopped, keys, set, weights, closings } = register();
    set(weightRule(7));
    watchers.at(-1)?.onFailure(new Error("the session is lost"));
    await expect.poll(() => keys.length).toBe(2);
    set(weightRule(8));
    expect(weights).toEqual([7, 8]);
    await registration.close();
    expect(closings).toHaveLength(1);
    expect(stopped).toEqual([watchers[1]]);
  });

  it("watches the rule soon after each of many losses", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { watchers, set } = register();
    for (let losses = 1; losses <= 20; losses++) {
      set(weightRule(losses));
      watchers.at(-1)?.onFailure(new Error("the session is lost"));
      await vi.advanceTimersByTimeAsync(300);
      expect(watchers).toHaveLength(losses + 1);
    }
  });
});
