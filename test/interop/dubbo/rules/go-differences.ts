/**
 * The decisions in which dubbo-go 3.3.2 differs from Dubbo for Java, as predicates on a rule, its endpoints and a call. A
 * predicate says where a difference is possible: a decision that differs without one is unexplained.
 */
import { type Fields, parseDocument } from "../../../../dubbo/src/rules/document.ts";
import { ROUTERS, type RuleKind } from "../../../../dubbo/src/rules/rule-text.ts";
import type { RuleCase } from "./cases.ts";

/** A rule of a case that is applied alone. */
export interface SingleRule {
  readonly one: RuleCase;
  readonly kind: RuleKind;
  /** The position of its router. */
  readonly router: number;
  readonly texts: readonly string[];
}

interface Given {
  readonly one: RuleCase;
  /** The last text, and whether it is malformed. */
  readonly text: string;
  readonly isMalformed: boolean;
  /** The members of the last text that is not malformed, if there is one. */
  readonly rule: Fields;
  readonly tags: readonly Tag[];
  readonly affinity: { readonly key: string; readonly ratio?: number };
  readonly conditions: readonly (string | MultiCondition)[];
  readonly terms: readonly Term[];
}

interface Tag {
  readonly name: string;
  readonly addresses?: readonly string[];
  readonly match?: readonly unknown[];
}

interface MultiCondition {
  readonly from?: { readonly match?: string };
  readonly to?: readonly { readonly match?: string; readonly weight?: number }[];
}

interface Term {
  readonly isThen: boolean;
  readonly key: string;
  readonly values: readonly string[];
}

type Predicate = (given: Given) => boolean;

/** The differences by kind of rule, each with its predicate. */
const DIFFERENCES: Readonly<Record<RuleKind, Readonly<Record<string, Predicate>>>> = {
  "tag-router": {
    "configVersion is not read": ({ isMalformed, text }) => isMalformed && text.startsWith("configVersion"),
    "quoted booleans are errors": hasQuotedBoolean,
    "an empty dubbo.tag of a call hides the tag of the consumer": ({ one }) =>
      one.call.attachments["dubbo.tag"] === "" && "dubbo.tag" in one.consumer,
    "1 is true for dubbo.force.tag": ({ one }) => one.call.attachments["dubbo.force.tag"] === "1",
    "tags have no levels": (given) => given.tags.length > 0 && tagOf(given).includes("|"),
    "addresses are no patterns": ({ tags }) =>
      tags.some(({ addresses = [] }) => addresses.some((text) => !/^[0-9.]+:[0-9]+$/.test(text))),
    "groups by match keep calls without a tag": (given) =>
      tagOf(given) === "" && given.tags.some(({ match }) => match !== undefined),
    "fail-over excludes only the addresses of the tag": (given) => {
      const own = given.tags.filter(({ name }) => name === tagOf(given));
      return tagOf(given) !== "" && given.tags.some((tag) => !own.includes(tag) || tag.match !== undefined);
    },
    "force also holds for tags without a group": (given) =>
      given.rule["force"] === true &&
      tagOf(given) !== "" &&
      !given.tags.some(({ name, addresses, match }) => name === tagOf(given) && (addresses ?? match) !== undefined),
    "of groups with one name the last one counts, whatever their kind": ({ tags }) =>
      new Set(tags.map(({ name }) => name)).size < tags.length,
    "a group by match without members has no static members": (given) =>
      given.tags.some(({ name, match }) => name === tagOf(given) && match !== undefined),
  },
  "affinity-router": {
    "without enabled, a rule is off": ({ rule }) => rule["enabled"] === undefined,
    "quoted booleans are errors": hasQuotedBoolean,
    "malformed texts clear": ({ isMalformed }) => isMalformed,
    "without ratio, a consumer without the parameter has no endpoint": ({ one, affinity }) =>
      affinity.ratio === undefined && !(affinity.key in one.consumer),
    "without ratio, no endpoint may be left": ({ one, affinity }) =>
      affinity.ratio === undefined && affinity.key in one.consumer,
  },
  "condition-router": {
    "malformed texts clear": ({ isMalformed }) => isMalformed,
    "quoted booleans are errors": hasQuotedBoolean,
    "without configVersion, a rule is malformed": ({ rule }) => rule["configVersion"] === undefined,
    "v3.0 without enabled or force panics": ({ rule }) =>
      !isMulti(rule) && (rule["enabled"] === undefined || rule["force"] === undefined),
    "v3.0 takes enabled for force": ({ rule }) => !isMulti(rule) && rule["enabled"] !== rule["force"],
    "v3.1 without enabled is off": ({ rule }) => isMulti(rule) && rule["enabled"] === undefined,
    "without force, an empty result undoes all conditions": ({ rule, conditions }) =>
      isMulti(rule) && rule["force"] !== true && conditions.length > 1,
    "identical conditions choose once": ({ conditions }) =>
      new Set(conditions.map((condition) => JSON.stringify(condition))).size < conditions.length,
    "without from and to, a condition is dropped": ({ conditions }) =>
      conditions.some((one) => typeof one !== "string" && !one.from?.match && one.to === undefined),
    "true and false are keys in v3.1": ({ rule, terms }) =>
      isMulti(rule) && terms.some(({ key }) => key === "true" || key === "false"),
    "address is a parameter": ({ terms }) => terms.some(({ key }) => key === "address"),
    "an empty attachment is absent": ({ one, terms }) =>
      terms.some(({ key }) => one.call.attachments[/^attachments\[(.*)\]$/.exec(key)?.[1] ?? ""] === ""),
    "ranges are read as integers": ({ terms }) => terms.some(({ values }) => values.some((text) => text.includes("~"))),
    "dots in names of attachments": ({ terms }) => terms.some(({ key }) => key.startsWith("attachments[user.")),
    "attachments of endpoints panic": ({ terms }) =>
      terms.some(({ key, isThen }) => isThen && key.startsWith("attachments")),
    "prefixes of sides are removed in values": ({ terms }) =>
      terms.some(({ values }) => values.some((text) => /(?:consumer|provider)\./.test(text))),
  },
};

/** Returns the names of the differences that a decision may have. */
export function differencesOf({ one, kind, texts }: SingleRule): string[] {
  const good = texts.filter((text) => isWellFormed(kind, text)).at(-1);
  const rule: Fields = good === undefined ? {} : parseDocument(good);
  const conditions = (rule["conditions"] ?? []) as Given["conditions"];
  const terms = conditions.flatMap((condition) => termsOf(condition));
  const tags = (rule["tags"] ?? []) as readonly Tag[];
  const affinity = (rule["affinityAware"] ?? { key: "" }) as Given["affinity"];
  const text = texts.at(-1) ?? "";
  const given = { one, text, isMalformed: (good ?? "") !== text, rule, tags, affinity, conditions, terms };
  return Object.entries(DIFFERENCES[kind])
    .filter(([, isPossible]) => isPossible(given))
    .map(([name]) => name);
}

function isWellFormed(kind: RuleKind, text: string): boolean {
  try {
    ROUTERS[kind](text);
    return true;
  } catch {
    return false;
  }
}

function isMulti(rule: Fields): boolean {
  return String(rule["configVersion"]).toLowerCase() === "v3.1";
}

function hasQuotedBoolean({ rule }: Given): boolean {
  return ["enabled", "force"].some((name) => typeof rule[name] === "string");
}

function tagOf({ one }: Given): string {
  return one.call.attachments["dubbo.tag"] || one.consumer["dubbo.tag"] || "";
}

function termsOf(condition: string | MultiCondition): Term[] {
  if (typeof condition !== "string") {
    const { from, to = [] } = condition;
    return [...parseTerms(from?.match ?? "", false), ...to.flatMap(({ match = "" }) => parseTerms(match, true))];
  }
  const [when = "", then] = condition.split("=>");
  return then === undefined ? parseTerms(when, true) : [...parseTerms(when, false), ...parseTerms(then, true)];
}

/** Reads terms such as `key=a,b & other!=c`. */
function parseTerms(text: string, isThen: boolean): Term[] {
  return text.split("&").map((term) => {
    const [key = "", ...values] = term.split(/[=!,]+/).map((part) => part.trim());
    return { isThen, key: key.replace(/^(?:consumer|provider)\./, ""), values };
  });
}
