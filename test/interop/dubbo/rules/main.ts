/**
 * `npm run interop:rules -- [CASES [SEED]]`: random traffic rules, endpoints and calls, decided by the routers of Dubbo for
 * Java and here. Every decision must be the same, except in cases in which a fault of Dubbo is wanted: those are counted by
 * the name of the fault. `--prepare` builds the program in Java, and runs nothing.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { callSettingsIn, overridesOf, parseConfigurators } from "../../../../dubbo/src/rules/configurators.ts";
import { Plan } from "../../../../dubbo/src/rules/plan.ts";
import { ROUTERS, type RuleKind, RuleText } from "../../../../dubbo/src/rules/rule-text.ts";
import type { Candidate, RuleRequest } from "../../../../dubbo/src/rules/subject.ts";
import { unlessMissing } from "../../peer.ts";
import { buildOnce, step } from "../build.ts";
import { checkJava, fetchJars, JAVA_VERSIONS, JVM } from "../peers/java.ts";
import {
  CONSUMER_HOST,
  type ConfigurationCase,
  createCase,
  createConfiguration,
  type RuleCase,
  randomOf,
} from "./cases.ts";

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

const SOURCE = join(import.meta.dirname, "RuleCases.java");

function buildJava(): string[] {
  checkJava();
  const folder = buildOnce("dubbo-rules", [SOURCE], (building) => {
    const jars = fetchJars(building, "jars", [`org.apache.dubbo:dubbo:${JAVA_VERSIONS[0].dubbo}`]);
    mkdirSync(join(building, "classes"));
    step(building, "javac", ["-nowarn", "-d", join(building, "classes"), "-cp", `${jars}/*`, SOURCE]);
  });
  const classes = `${join(folder, "classes")}:${join(folder, "jars", "*")}`;
  return ["java", ...JVM, "-cp", classes, "com.example.interop.RuleCases"];
}

/** Asks the program in Java for the answers to requests, such as the possible decisions of a case. */
function askJava(command: readonly string[], requests: readonly object[]): (string | null)[][] {
  const [program = "", ...args] = command;
  const input = requests.map((one) => JSON.stringify(one)).join("\n");
  const { stdout, stderr, status } = spawnSync(program, args, {
    input: `${input}\n`,
    encoding: "utf8",
    maxBuffer: 1024 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`the program in Java failed: ${stderr.slice(-4_000)}`);
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
  const expected = askJava(command, cases.map(configurationRequestOf));
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

/** Returns the possible decisions of a case. */
function decide({ consumer, host, providers, texts, call, isRandom }: RuleCase, random: () => number): string[] {
  const rules = KINDS.map((kind, index) => {
    const rule = new RuleText(ROUTERS[kind], () => {});
    for (const text of texts[index] ?? []) rule.set(text);
    return rule.rule;
  });
  const url = { protocol: "consumer", host, address: host, path: "greet.Greeter" };
  const parameters = new Map(Object.entries({ ...consumer, ...url }));
  const candidates = providers.map(({ host, port, parameters }, index): Candidate => {
    const own = { protocol: "tri", host, port: String(port), address: `${host}:${port}`, path: "greet.Greeter" };
    return { index, parameters: new Map(Object.entries({ ...parameters, ...own })) };
  });
  const request: RuleRequest = {
    method: call.method,
    attachment: (name) => call.attachments[name],
    argument: (index) => (index < call.arguments.length ? String(call.arguments[index]) : undefined),
  };
  const finish = (left: readonly Candidate[]): string => left.map(({ index }) => index).join();
  const plan = new Plan(rules, parameters, candidates, finish, random);
  return [...new Set(Array.from({ length: isRandom ? RUNS : 1 }, () => plan.choose(request)))].sort();
}

async function main(): Promise<number> {
  const [count = 2_000, seed = Date.now() % 1_000_000] = process.argv.slice(2).filter(isNumber).map(Number);
  const skipped: string[] = [];
  const command = await unlessMissing("Java", skipped, buildJava);
  for (const line of skipped) console.log(line);
  if (command === undefined) return CANNOT_RUN;
  if (process.argv.includes("--prepare")) return 0;
  const random = randomOf(seed);
  const cases = Array.from({ length: count }, () => createCase(random));
  const expected = askJava(command, cases.map(requestOf));
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
  return differing + compareConfigurations(command, count, random) === 0 ? 0 : 1;
}

const isNumber = (text: string): boolean => /^[0-9]+$/.test(text);

process.exitCode = await main();
