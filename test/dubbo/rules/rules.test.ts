/** Traffic rules: what they leave of a list. `npm run interop:rules` compares the same functions with Dubbo for Java. */
import { describe, expect, it } from "vitest";
import { addressTest } from "../../../dubbo/src/rules/address.ts";
import { Plan } from "../../../dubbo/src/rules/plan.ts";
import { ROUTERS, type RuleKind, RuleText } from "../../../dubbo/src/rules/rule-text.ts";
import { type Candidate, type Stage, to } from "../../../dubbo/src/rules/subject.ts";
import { readDocument } from "../../support/documents.ts";

interface Given {
  readonly kind?: RuleKind;
  readonly text?: string | undefined;
  readonly providers: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly consumer?: Readonly<Record<string, string>>;
  readonly random?: () => number;
}

/** The beginning of the problem of a malformed text. */
const IGNORED = "the rule key is ignored, and the last one stays: ";

/** Returns the function that lists what the rule leaves for a call, as names of providers. */
function route({ kind = "tag-router", text, providers, consumer = {}, random = () => 0 }: Given) {
  const rule = new RuleText(ROUTERS[kind], "key", (problem) => {
    throw new Error(problem);
  });
  rule.set(text);
  const names = Object.keys(providers);
  const candidates = Object.values(providers).map(
    (parameters, index): Candidate => ({ index, parameters: new Map(Object.entries(parameters)) }),
  );
  const finish = (left: readonly Candidate[]): string => left.map(({ index }) => names[index]).join(" ");
  const plan = new Plan([rule.rule], new Map(Object.entries(consumer)), candidates, finish, random);
  return (headers: Readonly<Record<string, string>> = {}, method = "greet") =>
    plan.choose({ method, attachment: (name) => headers[name] });
}

const at = (host: string, tag?: string) => ({ host, port: "50051", ...(tag && { "dubbo.tag": tag }) });

describe("tag rules", () => {
  const text = (force: boolean) => `
configVersion: v3.0
force: ${force}
tags:
  - { name: gray, addresses: ["10.0.0.7:50051", "10.0.1.*"] }
`;
  const providers = { a: at("10.0.0.7"), b: at("10.0.0.8", "gray"), c: at("10.0.0.9") };
  const { a: _, ...withoutA } = providers;

  it.each([
    ["no tag", {}, "c"],
    ["the tag of a group", { "dubbo.tag": "gray" }, "a"],
    ["a level of a tag", { "dubbo.tag": "gray|x" }, "a"],
    ["an unknown tag", { "dubbo.tag": "blue" }, "c"],
    ["an unknown tag that is forced", { "dubbo.tag": "blue", "dubbo.force.tag": "true" }, ""],
  ])("choose for a request with %s", (_name, headers, expected) => {
    expect(route({ text: text(false), providers })(headers)).toBe(expected);
  });

  it("fail over to untagged endpoints only without force", () => {
    expect(route({ text: text(false), providers: withoutA })({ "dubbo.tag": "gray" })).toBe("c");
    expect(route({ text: text(true), providers: withoutA })({ "dubbo.tag": "gray" })).toBe("");
  });

  it.each([
    ["gray|x|y", "b"],
    ["gray|x", "b"],
    ["|gray||x|", "b"],
    ["gray|xy", "a"],
    ["gray", "a"],
    ["|", "c"],
    [`gray|x${"|y".repeat(30_000)}`, "b"],
  ])("choose the longest level of a tag that has a group: %.12s", (tag, expected) => {
    const tags = ["gray: 10.0.0.7", "gray|x: 10.0.0.8", ": 10.0.0.9"].map((one) => one.split(": "));
    const groups = tags.map(([name = "", address]) => `{ name: "${name}", addresses: ["${address}"] }`);
    const choose = route({
      text: `tags: [${groups}]`,
      providers: { a: at("10.0.0.7"), b: at("10.0.0.8"), c: at("10.0.0.10") },
    });
    expect(choose({ "dubbo.tag": tag })).toBe(expected);
  });

  it("match parameters of endpoints", () => {
    const match = 'configVersion: v3.0\ntags: [{ name: beta, match: [{ key: env, value: { exact: "b" } }] }]';
    const choose = route({ text: match, providers: { a: { ...at("10.0.0.1"), env: "b" }, c: at("10.0.0.2") } });
    expect([choose({ "dubbo.tag": "beta" }), choose()]).toEqual(["a", "c"]);
  });

  it("use static tags without a rule, and the tag of the consumer", () => {
    expect(route({ providers, consumer: { "dubbo.tag": "gray" } })()).toBe("b");
    expect(route({ providers })()).toBe("a c");
  });
});

describe("condition rules", () => {
  const providers = { a: { region: "hz", env: "gray" }, b: { region: "bj" }, c: { region: "hz" } };
  const consumer = { application: "web", region: "hz" };
  const choose = (conditions: readonly string[], more = "") =>
    route({
      kind: "condition-router",
      text: `configVersion: v3.0\n${more}\nconditions: ${JSON.stringify(conditions)}`,
      providers,
      consumer,
    });

  it("filter by the consumer, the method and headers", () => {
    const when = choose(["method=get* & attachments[user]=vip => env=gray", "application=web => region=$region"]);
    expect([when(), when({ user: "vip" }), when({ user: "vip" }, "getAll")]).toEqual(["a c", "a c", "a"]);
  });

  it("do not apply if they leave nothing, unless they are forced", () => {
    expect(choose(["=> region=none"])()).toBe("a b c");
    expect(choose(["=> region=none"], "force: true")()).toBe("");
  });

  it("block", () => {
    expect([choose(["method=greet =>"])(), choose(["method=stock =>"])()]).toEqual(["", "a b c"]);
  });

  it("distribute calls to destinations by weight", () => {
    const counts = new Map<string, number>();
    let point = 0;
    const canary = route({
      kind: "condition-router",
      text: `configVersion: v3.1
conditions:
  - { from: { match: "" }, to: [{ match: "env=gray", weight: 10 }, { match: "env!=gray" }, { match: "region=bj", weight: 90 }] }`,
      providers,
      random: () => (point++ % 100) / 100,
    });
    for (let call = 0; call < 100; call++) counts.set(canary(), (counts.get(canary()) ?? 0) + 1);
    // No endpoint without `env` passes `env!=gray`.
    expect([...counts.keys()].sort()).toEqual(["a", "b"]);
    const even = route({
      kind: "condition-router",
      text: 'configVersion: v3.1\nconditions: [{ to: [{ match: "env=gray", weight: 1 }, { match: "region=bj", weight: 1 }] }]',
      providers,
      random: () => (point++ % 2) / 2,
    });
    expect(new Set([even(), even()])).toEqual(new Set(["a", "b"]));
  });
});

it("the canary of docs/rules.md gets a tenth of the calls", () => {
  const text = readDocument("docs/rules.md")
    .match(/^ {4}.*$/gm)
    ?.join("\n");
  let point = 0;
  const choose = route({
    kind: "condition-router",
    text,
    providers: { canary: { env: "canary" }, a: { env: "stable" }, b: { env: "stable" } },
    random: () => (point++ % 100) / 100,
  });
  const chosen = Array.from({ length: 100 }, () => choose());
  expect([chosen.filter((one) => one === "canary").length, chosen.filter((one) => one === "a b").length]).toEqual([
    10, 90,
  ]);
});

it("affinity rules prefer the consumer's region if enough endpoints are there", () => {
  const providers = { a: { region: "hz" }, b: { region: "bj" }, c: { region: "bj" }, d: { region: "bj" } };
  const choose = (ratio: number) =>
    route({
      kind: "affinity-router",
      text: `configVersion: v3.1\naffinityAware: { key: region, ratio: ${ratio} }`,
      providers,
      consumer: { region: "hz" },
    })();
  expect([choose(25), choose(26)]).toEqual(["a", "a b c d"]);
});

describe("texts of rules", () => {
  it.each<[RuleKind, string, string]>([
    ["tag-router", "shop", 'the rule must be a mapping, not "shop"'],
    ["tag-router", "configVersion: 3", "configVersion must be a text, not 3: put it in quotes"],
    ["tag-router", "priority: x", 'priority must be an integer, not "x"'],
    ["tag-router", "tags: x", "tags must be a list"],
    ["tag-router", "tags: [{}]", "tags[0] has no name"],
    ["tag-router", "configVersion: v3.0\ntags: [{ name: a }]", "tags[0] must have a list of addresses or of match"],
    [
      "tag-router",
      "configVersion: v3.0\ntags: [{ name: a, match: [{ key: env, value: {} }] }]",
      "tags[0].match[0].value must have one of exact, prefix, wildcard, empty, noempty",
    ],
    ["condition-router", "conditions: ['=a']", 'conditions[0]: "=" before "a" in "=a" has no key'],
    [
      "condition-router",
      "conditions: ['a==b']",
      'conditions[0]: "==" before "b" in "a==b" must be "=", "!=", "&" or ","',
    ],
    ...["arguments[0]=1 =>", "=> arguments[0]=1", "consumer.arguments=1 =>"].map(
      (condition): [RuleKind, string, string] => [
        "condition-router",
        `conditions: ['${condition}']`,
        `conditions[0]: ${/arguments[^=]*/.exec(condition)?.[0].trim()} is not supported, use attachments`,
      ],
    ),
    ["condition-router", "conditions: [a: b]", "conditions[0] must be a text: put it in quotes"],
    ["condition-router", "configVersion: v3.2", 'configVersion "v3.2" is not supported: use v3.0 or v3.1'],
    [
      "condition-router",
      "configVersion: v3.1\nconditions: [{ to: [{ weight: x }] }]",
      'conditions[0].to[0].weight must be an integer, not "x"',
    ],
    ["affinity-router", "configVersion: v3.0", "configVersion must be v3.1, not v3.0"],
    [
      "affinity-router",
      "configVersion: v3.1\naffinityAware: { key: a, ratio: 101 }",
      "affinityAware.ratio must be a number from 0 to 100, not 101",
    ],
    ["affinity-router", `#${"x".repeat(131_072)}`, "it is longer than 131072 characters"],
    ["affinity-router", "[".repeat(60_000), "it is nested more than 64 levels deep"],
    ["affinity-router", `[${",".repeat(131_000)}`, "it has more than 32768 symbols"],
    ["affinity-router", "- ".repeat(60_000), "it is nested more than 64 levels deep"],
    ["affinity-router", "{ a: 1 }\n---\n{ a: 2 }", "it has more than one document"],
    [
      "affinity-router",
      "a: 1\nb: [1",
      "it is not YAML: Flow sequence in block collection must be sufficiently indented and end with a ] at line 2",
    ],
  ])("report a malformed %s: %#", (kind, text, reason) => {
    const problems: string[] = [];
    new RuleText(ROUTERS[kind], "key", (problem) => problems.push(problem)).set(text);
    expect(problems).toEqual([`${IGNORED}${reason}`]);
  });

  it("keep the last good rule, report a malformed one once, and end with an empty one", () => {
    const problems: string[] = [];
    const rule = new RuleText(ROUTERS["condition-router"], "key", (problem) => problems.push(problem));
    rule.set("conditions: ['=> a=b']");
    const { rule: good } = rule;
    rule.set("conditions: [");
    rule.set("conditions: [");
    expect(rule.rule).toBe(good);
    expect(problems).toEqual([expect.stringContaining(`${IGNORED}it is not YAML:`)]);
    rule.set(" ");
    expect(rule.rule(new Map(), [])).toEqual([]);
  });

  it("quote no more than a part of a long value", () => {
    const problems: string[] = [];
    const rule = new RuleText(ROUTERS["condition-router"], "key", (problem) => problems.push(problem));
    rule.set(`a: &a [${"x,".repeat(5_000)}]\nkey: [${"*a,".repeat(50)}]`);
    expect(problems[0]).toContain(`${IGNORED}key must be a text, not `);
    expect(problems[0]?.length).toBe(IGNORED.length + 500);
  });
});

it.each([
  ["*", "10.0.0.1", "80", true],
  ["10.0.0.1", "10.0.0.1", "80", true],
  ["10.0.0.1:81", "10.0.0.1", "80", false],
  ["0.0.0.0:80", "10.0.0.1", "80", true],
  ["10.0.*.1-63", "10.0.9.63", "80", true],
  ["10.0.*.1-63", "10.0.9.64", "80", false],
  ["10.0.0.0/24", "10.0.0.255", "80", true],
  ["10.0.0.0/24", "10.0.1.0", "80", false],
  ["10.0.0.0/33", "10.0.0.1", "80", false],
  ["2001:db8::/32", "[2001:db8::1]", "80", true],
  ["[2001:db8:0::1]:80", "2001:db8::1", "80", true],
  ["2001:db8::1", "2001:db8::2", "80", false],
  ["shop-1:80", "shop-1", "80", true],
  ["127.0.0.1:80", "127.0.0.1", "80", true],
  ["10.0.1", "10.0.1.0", "80", false],
])("the pattern %s and the address %s, port %s: %s", (pattern, host, port, expected) => {
  expect(addressTest(pattern)(host, port)).toBe(expected);
});

it("a plan begins anew when there are too many tags of requests", () => {
  const choose = route({ providers: { a: at("10.0.0.1", "gray"), c: at("10.0.0.9") } });
  for (let tag = 0; tag < 5_000; tag++) expect(choose({ "dubbo.tag": String(tag) })).toBe("c");
  expect(choose({ "dubbo.tag": "gray" })).toBe("a");
});

it("a plan of more rules than it may have branches for tags applies each rule once", () => {
  let applied = 0;
  const stage: Stage = {
    outcomeOf: ({ method }) => method === "other",
    route(candidates) {
      applied++;
      return to(candidates);
    },
  };
  const rules = Array.from({ length: 3_000 }, () => () => [stage]);
  const plan = new Plan(rules, new Map(), [{ index: 0, parameters: new Map() }], (left) => left.length, Math.random);
  const request = { method: "greet", attachment: () => undefined };
  for (let calls = 0; calls < 3; calls++) expect(plan.choose(request)).toBe(1);
  expect(applied).toBe(rules.length);
});
