/**
 * Condition rules: `KEY.condition-router`, in the formats v3.0 (`when => then`) and v3.1 (`from`, and destinations with
 * weights). The conditions of a rule are applied one after another. Affinity rules: `KEY.affinity-router`.
 */
import { type Condition, compileThen, compileWhen, parseCondition } from "./condition.ts";
import { fieldsOf, isPresent, parseDocument, readHeader, textOf, textsOf } from "./document.ts";
import { type Candidate, type Destination, keep, type Parameters, type Rule, type Stage, to } from "./subject.ts";

/** The weight of a destination that declares none, or none above 0. */
const DEFAULT_WEIGHT = 100;

/** The prefixes of keys in v3.0. */
const SIDE = /^(?:consumer|provider)\./;

/** Parses the text of a condition rule. Throws an `Error` with the reason if it is malformed. */
export function parseConditionRule(text: string): Rule {
  const document = parseDocument(text);
  const { version = "v3.0", enabled, force } = readHeader(document);
  const { conditions } = document;
  const isMulti = version.toLowerCase().startsWith("v3.1");
  if (!isMulti && version.toLowerCase() > "v3.1") {
    throw new Error(`configVersion "${version}" is not supported: use v3.0 or v3.1`);
  }
  if (isPresent(conditions) && !Array.isArray(conditions)) throw new Error("conditions must be a list");
  if (!enabled || !Array.isArray(conditions)) return () => [];
  const rules = isMulti
    ? conditions.map((one, index) => parseMulti(one, `conditions[${index}]`, force))
    : (textsOf(conditions, "conditions") ?? []).map((one, index) => parseSingle(one, `conditions[${index}]`, force));
  return (consumer) => rules.flatMap((rule) => rule(consumer) ?? []);
}

/** Makes the stage of a condition. `undefined`: it does not apply to the consumer. */
type ConditionRule = (consumer: Parameters) => Stage | undefined;

/** Parses a condition of v3.0. */
function parseSingle(text: string, at: string, force: boolean): ConditionRule {
  const arrow = text.indexOf("=>");
  const [whenText, thenText] = [arrow < 0 ? "" : text.slice(0, arrow), arrow < 0 ? text : text.slice(arrow + 2)];
  if (text.trim() === "") throw new Error(`${at} is empty`);
  const when = parseWhen(whenText, at, SIDE);
  const then = isBlank(thenText, "false") ? undefined : parseCondition(thenText, at, SIDE);
  return (consumer) => {
    if (then === undefined) return stageOf(when, consumer, () => to([]));
    // In Dubbo, a condition without keys is passed by no endpoint.
    const test = then.size === 0 ? () => false : compileThen(then, consumer);
    return stageOf(when, consumer, (candidates) => {
      const found = keep(candidates, ({ parameters }) => test(parameters));
      return to(found.length > 0 || force ? found : candidates);
    });
  };
}

/** Parses a condition of v3.1. */
function parseMulti(given: unknown, at: string, force: boolean): ConditionRule {
  const { from, to: targets = [] } = fieldsOf(given, at);
  const match = from === undefined ? undefined : textOf(fieldsOf(from, `${at}.from`)["match"], `${at}.from.match`);
  if (!Array.isArray(targets)) throw new Error(`${at}.to must be a list`);
  const when = parseWhen(match ?? "", at);
  const destinations = targets.map((one, index) => parseDestination(one, `${at}.to[${index}]`));
  return (consumer) => {
    const tests = destinations.map(({ condition, weight }) => ({ weight, test: compileThen(condition, consumer) }));
    return stageOf(when, consumer, (candidates) => {
      if (tests.length === 0) return to([]);
      const found = tests
        .map(({ weight, test }) => ({ weight, candidates: keep(candidates, ({ parameters }) => test(parameters)) }))
        .filter((destination) => destination.candidates.length > 0);
      return found.length > 0 ? found : to(force ? [] : candidates);
    });
  };
}

function parseDestination(given: unknown, at: string): { readonly condition: Condition; readonly weight: number } {
  const { match, weight = DEFAULT_WEIGHT } = fieldsOf(given, at);
  const text = textOf(match, `${at}.match`) ?? "";
  if (!/^[+-]?[0-9]{1,9}$/.test(String(weight))) {
    throw new Error(`${at}.weight must be an integer, not ${JSON.stringify(weight)}`);
  }
  const condition = isBlank(text, "false") ? new Map() : parseCondition(text, at);
  return { condition, weight: Number(weight) > 0 ? Number(weight) : DEFAULT_WEIGHT };
}

function parseWhen(text: string, at: string, prefix?: RegExp): Condition {
  return isBlank(text, "true") ? new Map() : parseCondition(text, at, prefix);
}

/** Reports whether a side of a rule is empty, or the word for it. */
function isBlank(text: string, word: string): boolean {
  return text.trim() === "" || text.trim() === word;
}

function stageOf(
  when: Condition,
  consumer: Parameters,
  route: (candidates: readonly Candidate[]) => readonly Destination[],
): Stage | undefined {
  const tests = compileWhen(when, consumer);
  if (tests === false) return undefined;
  if (tests.length === 0) return { route };
  return {
    outcomeOf: tests.length === 1 && tests[0] ? tests[0] : (request) => tests.every((test) => test(request)),
    route: (candidates, outcome) => (outcome === true ? route(candidates) : to(candidates)),
  };
}

/**
 * Parses the text of an affinity rule: calls go to the endpoints with the consumer's value of a parameter, such as its region,
 * if these are at least `ratio` percent of all. Throws an `Error` with the reason if it is malformed.
 */
export function parseAffinityRule(text: string): Rule {
  const document = parseDocument(text);
  const { version, enabled } = readHeader(document);
  if (text.trim() === "") return () => [];
  if (!version?.startsWith("v3.1")) throw new Error(`configVersion must be v3.1, not ${version ?? "absent"}`);
  const affinity = fieldsOf(document["affinityAware"], "affinityAware");
  const key = textOf(affinity["key"], "affinityAware.key");
  if (!key) throw new Error("affinityAware has no key");
  const { ratio = 0 } = affinity;
  const percent = String(ratio).trim() === "" ? Number.NaN : Number(ratio);
  if (!(percent >= 0 && percent <= 100)) {
    throw new Error(`affinityAware.ratio must be a number from 0 to 100, not ${JSON.stringify(ratio)}`);
  }
  return (consumer) => {
    const own = consumer.get(key);
    if (!enabled || own === undefined) return [];
    const test = compileThen(new Map([[key, { matches: new Set([own]), mismatches: new Set() }]]), consumer);
    return [
      {
        route(candidates) {
          const found = keep(candidates, ({ parameters }) => test(parameters));
          const isEnough = found.length > 0 && found.length / candidates.length >= percent / 100;
          return to(isEnough ? found : candidates);
        },
      },
    ];
  };
}
