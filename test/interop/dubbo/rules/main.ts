/**
 * `npm run interop:rules -- [CASES [SEED]]`: random traffic rules, endpoints and calls, decided by the routers of Dubbo for
 * Java, by those of dubbo-go, and here. Every decision must be that of Java, except in cases in which a fault of Java is
 * wanted: those are counted by the name of the fault. dubbo-go decides on each rule of a case alone: where it differs, a
 * known difference must explain it. `--prepare` builds the programs, and runs nothing.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { callSettingsIn, overridesOf, parseConfigurators } from "../../../../dubbo/src/rules/configurators.ts";
import { Plan } from "../../../../dubbo/src/rules/plan.ts";
import { ROUTERS, type RuleKind, RuleText } from "../../../../dubbo/src/rules/rule-text.ts";
import type { Candidate, RuleRequest } from "../../../../dubbo/src/rules/subject.ts";
import { goVersion } from "../../../support/go.ts";
import { MissingPeer, unlessMissing } from "../../peer.ts";
import { buildOnce, fetchStep, PEERS, step } from "../build.ts";
import { checkJava, fetchJars, JAVA_VERSIONS, JVM } from "../peers/java.ts";
import {
  CONSUMER_HOST,
  type ConfigurationCase,
  createCase,
  createConfiguration,
  type RuleCase,
  randomOf,
} from "./cases.ts";
import { differencesOf, type SingleRule } from "./go-differences.ts";

/** The exit status that the check recognizes as "cannot run here". */
const CANNOT_RUN = 3;

/** The number of calls of a case whose rules choose at random. The rarest choice has a probability of 4 %. */
const RUNS = 400;

/** Rules in the order of Dubbo's routers. */
const KINDS: readonly RuleKind[] = [
  "tag-router",
  "affinity-router",
  "affinity-router",
  "condition-router",
  "condition-router",
  "condition-router",
];

const JAVA_SOURCE = join(import.meta.dirname, "RuleCases.java");
const GO_SOURCES = [
  join(import.meta.dirname, "rule_cases.go"),
  ...["go.mod", "go.sum"].map((name) => join(PEERS, "go", name)),
];

function buildGo(): string[] {
  if (goVersion() === undefined) throw new MissingPeer("there is no go on the PATH");
  const folder = buildOnce("dubbo-go-rules", GO_SOURCES, (building) => {
    for (const source of GO_SOURCES) copyFileSync(source, join(building, basename(source)));
    fetchStep(building, "go", ["mod", "download"]);
    step(building, "go", ["build", "-o", "rule-cases", "rule_cases.go"]);
  });
  return [join(folder, "rule-cases")];
}

function buildJava(): string[] {
  checkJava();
  const folder = buildOnce("dubbo-rules", [JAVA_SOURCE], (building) => {
    const jars = fetchJars(building, "jars", [`org.apache.dubbo:dubbo:${JAVA_VERSIONS[0].dubbo}`]);
    mkdirSync(join(building, "classes"));
    step(building, "javac", ["-nowarn", "-d", join(building, "classes"), "-cp", `${jars}/*`, JAVA_SOURCE]);
  });
  const classes = `${join(folder, "classes")}:${join(folder, "jars", "*")}`;
  return ["java", ...JVM, "-cp", classes, "com.example.interop.RuleCases"];
}

/** Asks a program for the answers to requests, such as the possible decisions of a case. */
function ask(command: readonly string[], requests: readonly object[]): (string | null)[][] {
  const [program = "", ...args] = command;
  const input = requests.map((one) => JSON.stringify(one)).join("\n");
  const { stdout, stderr, status } = spawnSync(program, args, {
    input: `${input}\n`,
    encoding: "utf8",
    maxBuffer: 1024 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`${program} failed: ${stderr.slice(-4_000)}`);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

function requestOf({ consumer, host, providers, texts, call, isRandom }: RuleCase) {
  return {
    consumer: `consumer://${host}/greet.Greeter?${queryOf(consumer)}`,
    providers: providers.map((one) => `tri://${one.host}:${one.port}/greet.Greeter?${queryOf(one.parameters)}`),
    texts,
    call,
    runs: isRandom ? RUNS : 1,
  };
}

function queryOf(parameters: Readonly<Record<string, string>>): string {
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}

/** Parameters that dynamic configuration may set in a case. */
const CONFIGURED = ["weight", "timeout", "disabled", "retries"];

/** Methods whose timeouts and retries are compared. */
const METHODS = ["greet", "other"];

/** The default of timeouts and retries, as the program in Java writes it. */
const NONE = 2 ** 31 - 1;

function configurationRequestOf(given: ConfigurationCase) {
  const { side, host, port, application, group, version, parameters, texts } = given;
  const key = { ...(group && { group }), ...(version && { version }) };
  const query = queryOf({ interface: "greet.Greeter", side, application, ...key, ...parameters });
  const address = port === undefined ? `consumer://${host}` : `tri://${host}:${port}`;
  return { subject: `${address}/greet.Greeter?${query}`, texts, names: CONFIGURED, methods: METHODS };
}

/** Returns the values of the parameters that the texts set. */
function configure({ side, host, port, application, group, version, parameters, texts }: ConfigurationCase) {
  const subject = {
    ...{
      side,
      host,
      application,
      address: port === undefined ? host : `${host}:${port}`,
      own: side === "consumer" ? CONSUMER_HOST : host,
    },
    service: `${group && `${group}/`}greet.Greeter${version && `:${version}`}`,
    parameters: new Map(Object.entries(parameters)),
  };
  const set = new Map(texts.flatMap((text) => [...overridesOf(parseConfigurators(text), subject)]));
  const calls = METHODS.flatMap((method) => {
    const { timeoutMs = NONE, retries = NONE } = callSettingsIn(set, method, () => {});
    return [String(timeoutMs), String(retries)];
  });
  return [...CONFIGURED.map((name) => set.get(name) ?? null), ...calls];
}

/** Compares dynamic configuration. Returns the number of cases that differ. */
function compareConfigurations(command: readonly string[], count: number, random: () => number): number {
  const cases = Array.from({ length: count }, () => createConfiguration(random));
  const expected = ask(command, cases.map(configurationRequestOf));
  const ours = cases.map(configure);
  const differing = cases.filter((_, index) => JSON.stringify(ours[index]) !== JSON.stringify(expected[index]));
  for (const one of differing.slice(0, 5)) {
    const index = cases.indexOf(one);
    console.log(JSON.stringify({ ...configurationRequestOf(one), java: expected[index], ours: ours[index] }, null, 2));
  }
  const set = expected.filter((values) => values.slice(0, CONFIGURED.length).some((value) => value !== null)).length;
  console.log(`dynamic configuration: ${count} cases, ${set} with an effect, ${differing.length} differ`);
  return differing.length;
}

/** Returns the possible decisions of a case, by all its rules or by that of one router. */
function decide(given: RuleCase, random: () => number, router?: number): string[] {
  const { consumer, host, providers, texts, call, isRandom } = given;
  const all = KINDS.map((kind, index) => {
    const rule = new RuleText(ROUTERS[kind], kind, () => {});
    for (const text of texts[index] ?? []) rule.set(text);
    return rule.rule;
  });
  const rules = all.filter((_, index) => router === undefined || router === index);
  const url = { protocol: "consumer", host, address: host, path: "greet.Greeter" };
  const parameters = new Map(Object.entries({ ...consumer, ...url }));
  const candidates = providers.map(({ host, port, parameters }, index): Candidate => {
    const own = { protocol: "tri", host, port: String(port), address: `${host}:${port}`, path: "greet.Greeter" };
    return { index, parameters: new Map(Object.entries({ ...parameters, ...own })) };
  });
  const request: RuleRequest = {
    method: call.method,
    attachment: (name) => call.attachments[name],
  };
  const finish = (left: readonly Candidate[]): string => left.map(({ index }) => index).join();
  const plan = new Plan(rules, parameters, candidates, finish, random);
  return [...new Set(Array.from({ length: isRandom ? RUNS : 1 }, () => plan.choose(request)))].sort();
}

/**
 * Compares the decisions on each rule alone with dubbo-go and Dubbo for Java, and prints a table of the differences of
 * dubbo-go. Returns the number of those that no known difference explains.
 */
function compareGo(go: readonly string[], java: readonly string[], cases: readonly RuleCase[], random: () => number) {
  const rules = cases
    .flatMap((one) => KINDS.map((kind, router): SingleRule => ({ one, kind, router, texts: one.texts[router] ?? [] })))
    .filter(({ router, texts }) => router === 0 || texts.length > 0);
  const requests = rules.map(({ one, router }) => ({ ...requestOf(one), router }));
  const ofGo = ask(go, requests);
  const ours = rules.map(({ one, router }) => decide(one, random, router));
  const differing = rules.flatMap((_, index) => (sameIn(ofGo[index], ours[index]) ? [] : [index]));
  const ofJava = ask(
    java,
    differing.map((index) => requests[index] ?? {}),
  );
  const rows = new Map<string, { "Java only": number; ours: number; alone: number }>();
  const classes = { same: rules.length - differing.length, "Java only": 0, ours: 0 };
  let unexplained = 0;
  for (const [position, index] of differing.entries()) {
    const rule = rules[index] as SingleRule;
    const found = sameIn(ofJava[position], ours[index]) ? "Java only" : "ours";
    classes[found]++;
    const names = differencesOf(rule).map((name) => `${rule.kind}: ${name}`);
    for (const name of names) {
      const row = rows.get(name) ?? { "Java only": 0, ours: 0, alone: 0 };
      row[found]++;
      if (names.length === 1) row.alone++;
      rows.set(name, row);
    }
    if (names.length > 0) continue;
    unexplained++;
    const answers = { go: ofGo[index], java: ofJava[position], ours: ours[index] };
    if (unexplained <= 5) console.log(JSON.stringify({ ...requests[index], ...answers }, null, 2));
  }
  console.table(Object.fromEntries([...rows].sort()));
  console.log(`dubbo-go: ${rules.length} rules alone, ${JSON.stringify(classes)}, ${unexplained} unexplained`);
  return unexplained;
}

async function main(): Promise<number> {
  const [count = 2_000, seed = Date.now() % 1_000_000] = process.argv.slice(2).filter(isNumber).map(Number);
  const skipped: string[] = [];
  const java = await unlessMissing("Java", skipped, buildJava);
  const go = await unlessMissing("dubbo-go", skipped, buildGo);
  for (const line of skipped) console.log(line);
  if (java === undefined) return CANNOT_RUN;
  if (process.argv.includes("--prepare")) return 0;
  const random = randomOf(seed);
  const cases = Array.from({ length: count }, () => createCase(random));
  const expected = ask(java, cases.map(requestOf));
  const faults = new Map<string, number>();
  let differing = 0;
  for (const [index, one] of cases.entries()) {
    const decisions = decide(one, random);
    if (JSON.stringify(decisions) === JSON.stringify(expected[index])) continue;
    for (const name of one.faults) faults.set(name, (faults.get(name) ?? 0) + 1);
    if (one.faults.size > 0) continue;
    differing++;
    if (differing <= 5)
      console.log(JSON.stringify({ ...requestOf(one), java: expected[index], ours: decisions }, null, 2));
  }
  for (const [name, times] of [...faults].sort()) console.log(`${times} differ, as they must: ${name}`);
  const ordinary = cases.filter((one) => one.faults.size === 0).length;
  console.log(`seed ${seed}: ${count} cases, ${ordinary} without a fault of Dubbo, ${differing} differ`);
  const unexplained = go === undefined ? 0 : compareGo(go, java, cases, random);
  return differing + unexplained + compareConfigurations(java, count, random) === 0 ? 0 : 1;
}

const sameIn = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

const isNumber = (text: string): boolean => /^[0-9]+$/.test(text);

process.exitCode = await main();
