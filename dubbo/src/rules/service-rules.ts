/** The rules of a service that a consumer calls: their keys in a config center, their texts, and their order. */
import type { Balancer, Endpoint, Instance, Registry, RoutedBalancer, ServiceKey } from "triple-es/discovery";
import { assertMembers, formatAddress, formatServiceKey, reasonOf } from "triple-es/internal";
import { callSettingsIn, type Override, overridesOf, parseConfigurators, weightIn } from "./configurators.ts";
import { booleanOf } from "./document.ts";
import { addressOf, routed } from "./routed.ts";
import { ROUTERS, type RuleKind, RuleText } from "./rule-text.ts";
import { type Candidate, keep, type Parameters, type Rule, to } from "./subject.ts";

/** Options of {@link rules}. */
export interface RulesOptions {
  /** The name of the consumer's application, for its own rules and for conditions such as `application=web`. */
  readonly application: string;
  /**
   * Other parameters of the consumer, for conditions such as `region=hz` and `region=$region`. `dubbo.tag` is the tag of calls
   * that have none. Default: none.
   */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  /** Texts of rules by their keys, such as `shop.tag-router`, in place of those in the registry. Default: none. */
  readonly texts?: Readonly<Record<string, string>> | undefined;
}

/** Traffic rules of a consumer, for the option `rules` of registries. */
export interface Rules {
  /** Returns the rules of a service. `host` is the address of the consumer. */
  readonly of: (key: ServiceKey, host: string) => ServiceRules;
  /** Returns the dynamic configuration of a provider, of its application and of each service: the texts, and their weights. */
  readonly weights: (
    instance: Instance,
    warn: (problem: string) => void,
  ) => readonly {
    readonly text: { readonly key: string | undefined; isKnown: boolean; stop: () => void; set(text?: string): void };
    readonly weight: (attributes: Instance["attributes"]) => number | undefined;
  }[];
}

/** Watches the text under a key of a config center. Returns the function that ends it. */
export type WatchText = (key: string, onText: (text: string | undefined) => void) => () => void;

/** The kinds of rules and those whose they are, in the order in which they are applied, as in Dubbo for Java. */
const ORDER: readonly (readonly [kind: RuleKind, owner: "service" | "provider" | "consumer"])[] = [
  ["tag-router", "provider"],
  ["affinity-router", "service"],
  ["affinity-router", "provider"],
  ["condition-router", "service"],
  ["condition-router", "provider"],
  ["condition-router", "consumer"],
];

/** The parsers of texts by the ends of their keys. */
const PARSERS = new Map(Object.entries<(text: string) => unknown>({ ...ROUTERS, configurators: parseConfigurators }));

/**
 * Makes the traffic rules of a consumer: the tag, condition and affinity rules of Dubbo, and its dynamic configuration.
 * Providers apply the dynamic configuration too. Throws a `TypeError` for an invalid option.
 */
export function rules(options: RulesOptions): Rules {
  assertMembers("the options of rules", options, ["application", "parameters", "texts"]);
  const { application, texts = {} } = options;
  if (typeof application !== "string" || application === "") {
    throw new TypeError(`application of rules must be the name of the consumer, not ${JSON.stringify(application)}`);
  }
  for (const [key, text] of Object.entries(texts)) {
    const parse = PARSERS.get(key.slice(key.lastIndexOf(".") + 1));
    if (parse === undefined) throw new TypeError(`texts: ${key} must end with .${[...PARSERS.keys()].join(" or .")}`);
    try {
      parse(text);
    } catch (reason) {
      throw new TypeError(`texts: ${key} is invalid: ${reasonOf(reason)}`);
    }
  }
  return { of: (key, host) => new ServiceRules(options, key, host), weights: weightsOf(options) };
}

const weightsOf =
  ({ texts = {} }: RulesOptions): Rules["weights"] =>
  (instance, warn) => {
    const { application, host, port, services } = instance;
    const subject = { side: "provider", own: host, host, address: formatAddress(host, port), application } as const;
    const ruleOf = (name: string, service?: string, common?: RuleText<readonly Override[]>) => {
      const key = `${name}.configurators`;
      const text = new RuleText(parseConfigurators, key, warn);
      if (Object.hasOwn(texts, key)) text.set(texts[key]);
      const items = () => [...(common?.rule ?? []), ...text.rule];
      const weight = (attributes: Instance["attributes"] = {}) =>
        weightIn(overridesOf(items(), { ...subject, service, parameters: new Map(Object.entries(attributes)) }));
      return { text, weight };
    };
    const own = ruleOf(application);
    return [own, ...services.map((offered) => ruleOf(ruleName(offered), formatServiceKey(offered), own.text))];
  };

/** Returns the name of a service in the keys of rules, in which empty parts stay. */
const ruleName = ({ service, version = "", group = "" }: ServiceKey): string => `${service}:${version}:${group}`;

/** The rules of a service. They stay while no config center is watched. */
export class ServiceRules {
  /** The number of changes. */
  changes = 0;
  readonly #options: RulesOptions;
  readonly #service: Readonly<Record<string, string>>;
  readonly #key: string;
  readonly #host: string;
  /** The consumer as parameters of its URL in Dubbo. */
  readonly #consumer: Parameters;
  /** Settings of calls by method, of 100 at most: generic calls may name any. A change of the configuration discards them. */
  #calls = { changes: 0, byMethod: new Map<string, ReturnType<typeof this.overrides>>() };
  readonly #names: { readonly service: string; readonly consumer: string; provider: string | undefined };
  readonly #rules = ORDER.map(([kind]) => this.#create(ROUTERS[kind], undefined));
  readonly #configurators: readonly RuleText<readonly Override[]>[];
  #watch: WatchText = () => () => {};
  #warn: (problem: string) => void = () => {};

  constructor(options: RulesOptions, key: ServiceKey, host: string) {
    const { service, group, version } = key;
    this.#options = options;
    this.#host = host;
    this.#service = { interface: service, path: service, ...(group && { group }), ...(version && { version }) };
    const { application, parameters } = options;
    const own = { ...this.#service, application, side: "consumer", ...parameters };
    this.#consumer = new Map(Object.entries({ ...own, protocol: "consumer", host, address: host }));
    this.#names = { service: ruleName(key), consumer: application, provider: undefined };
    this.#key = formatServiceKey(key);
    this.#configurators = [application, this.#names.service].map((name) =>
      this.#create(parseConfigurators, `${name}.configurators`),
    );
  }

  /** Watches the texts. Returns the function that ends this, unless another watch has begun: a resolver may run again early. */
  start(watch: WatchText, warn: (problem: string) => void): () => void {
    this.#stop();
    this.#watch = watch;
    this.#warn = warn;
    for (const rule of this.#all) this.#open(rule);
    this.provide(undefined);
    return () => this.#watch === watch && this.#stop();
  }

  #stop(): void {
    for (const rule of this.#all) rule.stop();
  }

  get #all() {
    return [...this.#rules, ...this.#configurators];
  }

  /** Uses the rules of the application that provides the service. Returns true if all texts are known. */
  provide(application: string | undefined): boolean {
    this.#names.provider = application ?? this.#names.provider;
    for (const [index, [kind, owner]] of ORDER.entries()) {
      const name = this.#names[owner];
      // The rules of a consumer that calls its own application would be applied twice.
      const isTwice = kind === "condition-router" && owner === "provider" && name === this.#names.consumer;
      const key = name === undefined || isTwice ? undefined : `${name}.${kind}`;
      const last = this.#rules[index];
      if (last?.key === key) continue;
      last?.stop();
      this.changes++;
      const rule = this.#create(ROUTERS[kind], key);
      // Calls go on by the rule of the last application until that of the new one is known.
      if (last !== undefined && !rule.isKnown) rule.rule = last.rule;
      this.#rules[index] = rule;
    }
    return this.#all.every(({ isKnown }) => isKnown);
  }

  #create<T>(parse: (text: string) => T, key: string | undefined): RuleText<T> {
    const rule = new RuleText(parse, key, (problem) => this.#warn(problem));
    this.#open(rule);
    return rule;
  }

  #open(rule: RuleText<unknown>): void {
    if (rule.key === undefined) return;
    const { texts = {} } = this.#options;
    const set = (text: string | undefined): void => {
      rule.set(text);
      this.changes++;
    };
    if (Object.hasOwn(texts, rule.key)) set(texts[rule.key]);
    else rule.stop = this.#watch(rule.key, set);
  }

  /**
   * Returns what the dynamic configuration sets for calls of a method. It applies to the consumer, as retries do in Dubbo: an
   * item for some of its providers sets nothing. One that all providers apply sets defaults, as if they had registered it.
   */
  readonly overrides: NonNullable<ReturnType<Registry["resolver"]>["overrides"]> = ({ name }) => {
    if (!this.#isConfigured) return undefined;
    const isStale = this.#calls.changes !== this.changes || this.#calls.byMethod.size === 100;
    if (isStale) this.#calls = { changes: this.changes, byMethod: new Map() };
    const known = this.#calls.byMethod.get(name);
    if (known !== undefined) return known;
    const settingsOf = (set: Parameters) => callSettingsIn(set, name, this.#warn);
    const defaults = settingsOf(this.#overrides(new Map(), "provider"));
    const settings = { ...settingsOf(this.#overrides(this.#consumer)), defaults };
    this.#calls.byMethod.set(name, settings);
    return settings;
  };

  /** Gives endpoints the weights of the dynamic configuration. Those with `side: provider` are registered by the providers. */
  weigh(endpoints: readonly Endpoint[]): readonly Endpoint[] {
    if (!this.#isConfigured) return endpoints;
    return endpoints.map((endpoint) => {
      const parameters = new Map(Object.entries({ ...endpoint.attributes, ...addressOf(endpoint) }));
      return { ...endpoint, weight: weightIn(this.#overrides(parameters)) ?? endpoint.weight };
    });
  }

  /**
   * Removes the endpoints that dynamic configuration disables. It is a rule, because an endpoint that only leaves the list
   * would still be called if no other answers.
   */
  readonly #enabled: Rule = (_, all) => {
    if (!this.#isConfigured) return [];
    const isEnabled = ({ parameters }: Candidate): boolean =>
      !booleanOf(this.#overrides(parameters).get("disabled"), false);
    const enabled = new Set(all.filter(isEnabled));
    return [{ route: (candidates) => to(keep(candidates, (one) => enabled.has(one))) }];
  };

  get #isConfigured(): boolean {
    return this.#configurators.some(({ rule }) => rule.length > 0);
  }

  /** The parameters that dynamic configuration replaces in those of an endpoint, the items of the service last. */
  #overrides(parameters: Parameters, side: "consumer" | "provider" = "consumer"): Parameters {
    const [host = "", address = ""] = [parameters.get("host"), parameters.get("address")];
    const { consumer, provider = "" } = this.#names;
    const [own, application] = side === "consumer" ? [this.#host, consumer] : [host, provider];
    const subject = { side, own, host, address, application, service: this.#key, parameters };
    const items = this.#configurators.flatMap(({ rule }) => rule);
    return overridesOf(items, subject);
  }

  /** Restricts a policy by the rules. */
  route(policy: Balancer): RoutedBalancer {
    const current = () => [this.#enabled, ...this.#rules.map(({ rule }) => rule)];
    return routed(policy, current, this.#consumer, { ...this.#service, side: "provider" });
  }
}
