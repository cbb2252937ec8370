/**
 * Random cases of traffic rules: a consumer, endpoints, the texts of rules in the order of Dubbo's routers, and a call. A seed
 * determines them.
 */

/** A case. Some of Dubbo's faults are wanted in it, whose names are in `faults`. */
export interface RuleCase {
  readonly consumer: Readonly<Record<string, string>>;
  readonly host: string;
  readonly providers: readonly { readonly host: string; readonly port: number; readonly parameters: Parameters }[];
  /** The texts of each rule, one after the other. */
  readonly texts: readonly (readonly string[])[];
  readonly call: {
    readonly method: string;
    readonly attachments: Readonly<Record<string, string>>;
  };
  readonly faults: ReadonlySet<string>;
  readonly isRandom: boolean;
}

type Parameters = Readonly<Record<string, string>>;

/** Makes a source of random numbers from a seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const REGIONS = ["hz", "bj", "hzz"];
const ENVS = ["gray", "prod"];
const TAGS = ["gray", "blue", "a", "a|b", "a|b|c"];
const METHODS = ["greet", "greetAll", "stock"];

export function createCase(random: () => number): RuleCase {
  const faults = new Set<string>();
  let multiDestinations = 0;
  const chance = (share: number): boolean => random() < share;
  const integer = (max: number): number => Math.floor(random() * max);
  const one = <T>(list: readonly T[]): T => list[integer(list.length)] as T;
  // In half of the cases, rules have one item of each kind: a difference has one reason there.
  const isPlain = chance(0.5);
  const list = (min: number, max: number, make: (index: number) => string): string[] =>
    Array.from({ length: min + (isPlain ? 0 : integer(max - min + 1)) }, (_, index) => make(index));
  const maybe = (share: number, name: string, make: () => string): Parameters =>
    chance(share) ? { [name]: make() } : {};

  const fault = (name: string): boolean => {
    if (!chance(0.01)) return false;
    faults.add(name);
    return true;
  };

  const isLoopback = fault("loopback addresses in tags");
  const consumer = {
    application: "web",
    interface: "greet.Greeter",
    side: "consumer",
    ...maybe(0.7, "region", () => one(REGIONS)),
    ...maybe(0.5, "env", () => one(ENVS)),
    ...maybe(0.1, "dubbo.tag", () => one(TAGS)),
    ...maybe(0.05, "dubbo.force.tag", () => one(["true", "false", "TRUE"])),
  };
  const addresses = new Map<string, { readonly host: string; readonly port: number }>();
  for (let count = 1 + integer(7); count > 0; count--) {
    const host = isLoopback ? "127.0.0.1" : `10.0.${integer(2)}.${1 + integer(4)}`;
    const port = 50_051 + integer(isLoopback ? 7 : 2);
    addresses.set(`${host}:${port}`, { host, port });
  }
  const providers = [...addresses.values()].map((address) => ({
    ...address,
    parameters: {
      application: "shop",
      "remote.application": "shop",
      interface: "greet.Greeter",
      side: "provider",
      ...maybe(0.7, "region", () => one(REGIONS)),
      ...maybe(0.5, "env", () => one(ENVS)),
      ...maybe(0.3, "dubbo.tag", () => one(TAGS)),
      ...maybe(0.5, "level", () => one(["1", "5", "10", "99", "x", "2147483648"])),
    },
  }));

  function address(): string {
    const host = isLoopback ? "127.0.0.1" : `10.0.${integer(2)}.${1 + integer(4)}`;
    return one([
      () => host,
      () => `${host}:${50_051 + integer(2)}`,
      () => `0.0.0.0:${50_051 + integer(2)}`,
      () => `10.0.${integer(2)}.*`,
      () => `10.0.*.${1 + integer(4)}:50051`,
      () => `10.0.${integer(2)}.1-${1 + integer(4)}`,
      () => `10.0.${integer(2)}.${integer(8)}/${28 + integer(5)}`,
      () => one(["*", "*.*.*.*", "10.0.1", "shop", "10.0.0.1-2-3", "10.0.0.x/24", "10.0.1.00"]),
    ])();
  }

  function textMatch(values: readonly string[]): string {
    return one([
      () => `{ exact: ${one(values)} }`,
      () => `{ prefix: ${one(values).slice(0, 2)} }`,
      () => `{ wildcard: ${one([...values, '"*"'])} }`,
      () => `{ noempty: "true" }`,
      () => `{ empty: "true" }`,
    ])();
  }

  function tagText(): string {
    const version = one(["v3.0", "v3.0", "v2.7", undefined]);
    const lines = list(1, 3, () => {
      const name = `name: "${one(TAGS)}"`;
      if (version === "v3.0" && chance(0.4)) {
        const matches = list(1, 2, () =>
          chance(0.5) ? `{ key: region, value: ${textMatch(REGIONS)} }` : `{ key: env, value: ${textMatch(ENVS)} }`,
        );
        return `  - { ${name}, match: [${matches.join(", ")}] }`;
      }
      if (version !== "v3.0" && chance(0.1)) return `  - { ${name} }`;
      return `  - { ${name}, addresses: [${list(1, 3, () => `"${address()}"`).join(", ")}] }`;
    });
    return document(version, ["tags:", ...(chance(0.05) ? ["  []"] : lines)]);
  }

  function document(version: string | undefined, lines: readonly string[]): string {
    const head = [
      ...(version === undefined ? [] : [`configVersion: ${version}`]),
      ...(isPlain ? ["force: true"] : one([["force: true"], ["force: false"], []])),
      ...(chance(isPlain ? 0.97 : 0.7)
        ? [`enabled: ${one(["true", "true", "true", "true", "false", '"true"', "no", "yes"])}`]
        : []),
      ...(chance(0.1) ? ["runtime: true", "priority: 1"] : []),
      ...(chance(0.1) ? ["scope: service", "key: greet.Greeter"] : []),
    ];
    return `${[...head, ...lines].join("\n")}\n`;
  }

  /** A value of a key, and sometimes a pattern for several. */
  function pattern(values: readonly string[], isThen: boolean): string {
    return one([
      () => one(values),
      () => one(values),
      () => `${one(values).slice(0, 1)}*`,
      () => `*${one(values).slice(-1)}`,
      () => one(["*", "h*z", "*g*", "$region", "~"]),
      () => (isThen ? one(["$region", "$env", "$application", "$absent"]) : one(values)),
    ])();
  }

  function range(): string {
    if (fault("open ranges")) return `${integer(20)}~`;
    return one([`${integer(8)}~${integer(100)}`, `~${integer(20)}`, "1~2~3", "x~9", "1~99999999999"]);
  }

  function term(key: string, value: () => string): string {
    const operator = one(["=", "=", "!=", "= ", " != "]);
    const more = chance(0.2) ? `,${value()}` : "";
    return `${key}${operator}${value()}${more}${chance(0.05) ? ` & ${key}!=${value()}` : ""}`;
  }

  function whenSide(): string {
    const terms = list(1, 2, () =>
      one([
        () => term("method", () => pattern(METHODS, false)),
        () => term("region", () => pattern(REGIONS, false)),
        () => term("env", () => pattern(ENVS, false)),
        () => term("application", () => one(["web", "w*", "other"])),
        () => term("host", () => one(["10.0.9.1", "10.0.*", "10.0.9.2"])),
        () => term("attachments[user]", () => pattern(["vip", "basic"], false)),
        () => term("attachments[level]", range),
        () =>
          fault("dots in names of attachments")
            ? term("attachments[user.id]", () => one(["7", "8"]))
            : term("methods", () => pattern(METHODS, false)),
        () => one(["attachments", "method"]),
      ])(),
    );
    return terms.join(one(["&", " & "]));
  }

  function thenSide(): string {
    const terms = list(1, 2, () =>
      one([
        () => term("region", () => pattern(REGIONS, true)),
        () => term("region", () => pattern(REGIONS, true)),
        () => term("env", () => pattern(ENVS, true)),
        () => term("host", () => one(["10.0.0.1", "10.0.0.*", "10.0.1.2", "10.0*3"])),
        () => term("port", () => one(["50051", "50052", "50051~50051"])),
        () => term("address", () => one(["10.0.0.1:50051", "*:50052", "10.0.1.*"])),
        () => term("protocol", () => one(["tri", "dubbo", "$protocol"])),
        () => term("level", range),
        () => term("application", () => one(["shop", "web"])),
        () => one(["region", "attachments[user]!=vip"]),
      ])(),
    );
    return terms.join(one(["&", " & "]));
  }

  function single(): string {
    const when = one(["", "true", whenSide(), whenSide(), whenSide(), whenSide()]);
    const then = chance(0.05) ? one(["", "false", "&"]) : thenSide();
    if (fault("prefixes of sides in values")) return `interface=greet.provider.Greeter => ${then}`;
    const side = (text: string, prefix: string): string =>
      chance(0.1) ? text.replace(/^(?=[a-z])(?!true|false)/, prefix) : text;
    if (when === "" && chance(0.3)) return then === "" ? "=>" : then;
    return `${side(when, "consumer.")} => ${side(then, "provider.")}`;
  }

  function multi(): string {
    const from = chance(0.2) ? "" : `from: { match: "${one([whenSide(), whenSide(), "true", ""])}" }`;
    if (chance(0.05)) return `  - { ${from || "from: {}"} }`;
    const several = multiDestinations < 2 && chance(0.7);
    if (several) multiDestinations++;
    const destinations = list(several ? 2 : 1, several ? 3 : 1, () => {
      const match = `match: "${one([thenSide(), thenSide(), thenSide(), thenSide(), "", "false"])}"`;
      return `{ ${match}${chance(0.6) ? `, weight: ${one([50, 100, 0, -5])}` : ""} }`;
    });
    return `  - { ${[from, `to: [${destinations.join(", ")}]`].filter((part) => part !== "").join(", ")} }`;
  }

  function conditionText(): string {
    if (chance(0.4)) return document(one(["v3.1", "V3.1"]), ["conditions:", ...list(1, 3, multi)]);
    const lines = list(1, 3, () => `  - "${single()}"`);
    return document(one(["v3.0", "v2.7", undefined]), ["conditions:", ...lines]);
  }

  function affinityText(): string {
    const key = one(["region", "region", "env"]);
    const ratio = chance(0.3) ? "" : `, ratio: ${1 + integer(100)}`;
    if (ratio === "") faults.add("affinity that leaves no endpoint");
    return document("v3.1", [`affinityAware: { key: ${key}${ratio} }`]);
  }

  /** A rule that is sometimes replaced by a text that is malformed. */
  function texts(share: number, make: () => string, isCondition = false): string[] {
    if (!chance(share)) return [];
    const good = make();
    if (isCondition && fault("empty conditions keep the old ones")) return [good, "conditions: []\n"];
    if (isCondition && fault("half-applied rules")) {
      return [good, `configVersion: ${good.includes("3.1") ? "v3.0" : "v3.1"}\nconditions: ["== =>"]\n`];
    }
    return chance(0.05) ? [good, one(["not a mapping", "a: [", "configVersion: 3\n", "- 1\n"])] : [good];
  }

  return {
    consumer,
    host: "10.0.9.1",
    providers,
    texts: [
      texts(0.6, tagText),
      texts(0.1, affinityText),
      texts(0.1, affinityText),
      texts(0.5, conditionText, true),
      texts(0.2, conditionText, true),
      texts(0.2, conditionText, true),
    ],
    call: {
      method: one(METHODS),
      attachments: {
        ...maybe(0.5, "dubbo.tag", () => one([...TAGS, ""])),
        ...maybe(0.15, "dubbo.force.tag", () => one(["true", "True", "false", "1"])),
        ...maybe(0.5, "user", () => one(["vip", "basic", "v"])),
        ...maybe(0.3, "level", () => one(["1", "7", "15", "x", ""])),
        ...maybe(0.3, "user.id", () => one(["7", "9"])),
      },
    },
    faults,
    isRandom: multiDestinations > 0,
  };
}

/**
 * A case of dynamic configuration: a consumer (which has no port), a provider, or an endpoint as its consumer sees it, and texts
 * in their order.
 */
export interface ConfigurationCase {
  readonly side: "consumer" | "provider";
  readonly host: string;
  readonly port: number | undefined;
  readonly application: string;
  readonly group: string;
  readonly version: string;
  readonly parameters: Parameters;
  readonly texts: readonly string[];
}

/** The address of the consumer. */
export const CONSUMER_HOST = "10.0.0.1";

export function createConfiguration(random: () => number): ConfigurationCase {
  const chance = (share: number): boolean => random() < share;
  const integer = (max: number): number => Math.floor(random() * max);
  const one = <T>(list: readonly T[]): T => list[integer(list.length)] as T;
  const some = (max: number, make: () => string): string =>
    `[${Array.from({ length: integer(max + 1) }, make).join(", ")}]`;
  const hostOf = (): string => `10.0.0.${1 + integer(3)}`;
  const portOf = (): number => 50_051 + integer(2);
  const applicationOf = (): string => one(["web", "shop"]);
  const keyOf = (): string =>
    `${one(["", "", "blue/"])}greet.${one(["Greeter", "Greeter", "Other"])}${one(["", "", ":1.0"])}`;
  const addressOf = (): string =>
    `"${one([hostOf, () => `${hostOf()}:${portOf()}`, () => "0.0.0.0", () => `0.0.0.0:${portOf()}`])()}"`;
  const member = (share: number, name: string, make: () => string): string =>
    chance(share) ? `, ${name}: ${make()}` : "";

  function textMatch(values: readonly string[]): string {
    return one([
      () => `{ exact: "${one(values)}" }`,
      () => `{ prefix: "${one(values).slice(0, 2)}" }`,
      () => `{ wildcard: "${one([...values, "*"])}" }`,
      () => `{ noempty: "true" }`,
      () => `{ empty: "true" }`,
    ])();
  }

  function match(): string {
    const parts = [
      chance(0.4)
        ? `address: ${one([`{ cird: 10.0.0.0/${30 + integer(3)} }`, `{ exact: ${hostOf()} }`, `{ wildcard: "10.0.*" }`])}`
        : "",
      chance(0.3)
        ? `providerAddress: ${one([`{ exact: "${hostOf()}:${portOf()}" }`, `{ wildcard: "*:${portOf()}" }`, `{ wildcard: 0.0.0.0 }`])}`
        : "",
      chance(0.3) ? `service: { oneof: [${textMatch([keyOf(), keyOf()])}] }` : "",
      chance(0.3) ? `app: { oneof: [${textMatch(["web", "shop"])}, ${textMatch(["web", "shop"])}] }` : "",
      chance(0.5) ? `param: [{ key: region, value: ${textMatch(REGIONS)} }]` : "",
    ];
    return `{ ${parts.filter((part) => part !== "").join(", ")} }`;
  }

  function item(isNew: boolean): string {
    const condition = !isNew && chance(0.4) ? `, "~region": ${one(REGIONS)}` : "";
    const ofMethod = member(0.4, `${one(["greet", "other"])}.${one(["timeout", "retries"])}`, () =>
      String(integer(9) - 1),
    );
    const parameters = `{ ${one(["weight", "timeout", "timeout", "disabled"])}: ${integer(200)}, retries: "${integer(5) - 1}"${ofMethod}${condition}${member(0.2, "priority", () => String(integer(5)))} }`;
    return (
      `{ parameters: ${parameters}` +
      member(0.95, "side", () => one(["consumer", "provider"])) +
      member(0.5, "addresses", () => some(2, addressOf)) +
      member(0.4, "providerAddresses", () => some(2, addressOf)) +
      member(0.3, "applications", () => some(2, applicationOf)) +
      member(0.3, "services", () => some(2, () => `"${one([keyOf(), "*"])}"`)) +
      member(0.1, "type", () => one(["general", "weight"])) +
      member(0.2, "enabled", () => one(["true", "false"])) +
      `${isNew ? member(0.5, "match", match) : ""} }`
    );
  }

  function text(scope: "application" | "service"): string {
    const version = one(["v3.0", "v3.0", "v2.7"]);
    const items = Array.from({ length: 1 + integer(3) }, () => `  - ${item(version === "v3.0")}`);
    const head = [
      `configVersion: ${version}`,
      ...(scope === "application" || chance(0.5) ? [`scope: ${scope}`] : []),
      `key: "${scope === "application" ? applicationOf() : keyOf()}"`,
      ...(chance(0.2) ? [`enabled: ${one(["true", "false"])}`] : []),
    ];
    return `${[...head, "configs:", ...items].join("\n")}\n`;
  }

  const isConsumer = chance(0.3);
  return {
    side: isConsumer ? "consumer" : one(["consumer", "provider"]),
    host: isConsumer ? CONSUMER_HOST : hostOf(),
    port: isConsumer ? undefined : portOf(),
    application: applicationOf(),
    group: one(["", "", "blue"]),
    version: one(["", "", "1.0"]),
    parameters: chance(0.7) ? { region: one(REGIONS) } : {},
    texts: [text("application"), text("service")],
  };
}
