/**
 * Tag routing: calls with a tag go to endpoints with this tag, calls without one to endpoints without any. The tag of an
 * endpoint is its parameter `dubbo.tag` (static), or given by the rule `APPLICATION.tag-router` (dynamic). Without a rule,
 * static tags apply.
 */
import type { HandlerContext } from "triple-es";
import { addressTest } from "./address.ts";
import { booleanOf, fieldsOf, isPresent, parseDocument, readHeader, textOf, textsOf } from "./document.ts";
import { type Candidate, keep, type Parameters, parameterMatch, type Rule, type RuleRequest, to } from "./subject.ts";

const TAG = "dubbo.tag";
const FORCE_TAG = "dubbo.force.tag";
/** The separator of the levels of a tag: `a|b` also selects the group `a`, if there is no group `a|b`. */
const LEVEL_SEPARATOR = "|";

/** The endpoints of a tag: a group by addresses also exists without members. */
interface Tag {
  readonly name: string;
  readonly by: "addresses" | "match" | "nothing";
  readonly tests: readonly ((endpoint: Parameters) => boolean)[];
}

type Groups = ReadonlyMap<string, ReadonlySet<Candidate>>;

/** Parses the text of a tag rule. Throws an `Error` with the reason if it is malformed. */
export function parseTagRule(text: string): Rule {
  const document = parseDocument(text);
  const { version, enabled, force } = readHeader(document);
  const { tags } = document;
  if (isPresent(tags) && !Array.isArray(tags)) throw new Error("tags must be a list");
  const isV3 = version?.startsWith("v3.0") ?? false;
  const parsed = ((tags ?? []) as unknown[]).map((tag, index) => parseTag(tag, `tags[${index}]`, isV3));
  return tagRouting(enabled && booleanOf(document["valid"], true) ? parsed : [], force);
}

function parseTag(given: unknown, at: string, isV3: boolean): Tag {
  const { name: nameGiven, addresses: addressesGiven, match } = fieldsOf(given, at);
  const name = textOf(nameGiven, `${at}.name`);
  if (name === undefined) throw new Error(`${at} has no name`);
  const addresses = (textsOf(addressesGiven, `${at}.addresses`) ?? []).map(addressTest);
  const isMember = (endpoint: Parameters): boolean =>
    addresses.some((test) => test(endpoint.get("host") ?? "", endpoint.get("port") ?? ""));
  if (addresses.length > 0) return { name, by: "addresses", tests: [isMember] };
  if (!isV3) return { name, by: "nothing", tests: [] };
  if (!Array.isArray(match)) throw new Error(`${at} must have a list of addresses or of match`);
  return {
    name,
    by: "match",
    tests: match.map((one, index) => parameterMatch(one, `${at}.match[${index}]`)),
  };
}

/** Makes the tag routing by the tags of a rule. Without any, static tags apply alone. */
export function tagRouting(tags: readonly Tag[], isForced: boolean): Rule {
  return (consumer, all) => {
    const groups = groupsOf(tags, all);
    const tagged = new Set([...groups.values()].flatMap((group) => [...group]));
    const isPlain = (one: Candidate): boolean => !one.parameters.get(TAG) && !tagged.has(one);
    return [
      {
        outcomeOf: (request) => outcomeOf(request, consumer),
        route(candidates, outcome) {
          const tag = String(outcome).slice(1);
          if (tag === "") return to(keep(candidates, isPlain));
          const isForcedByCall = String(outcome)[0] === FORCED;
          const group = groupOf(groups, tag, isForcedByCall);
          const found = keep(candidates, (one) => group?.has(one) ?? one.parameters.get(TAG) === tag);
          const isFinal = found.length > 0 || isForcedByCall || (isForced && group !== undefined);
          return to(isFinal ? found : keep(candidates, isPlain));
        },
      },
    ];
  };
}

/** The marks before the tag of a call in the outcome of a request. */
const FORCED = "!";
const OPEN = " ";

function outcomeOf(request: RuleRequest, consumer: Parameters): string {
  const tag = request.attachment(TAG) || consumer.get(TAG);
  if (!tag) return "";
  return (booleanOf(request.attachment(FORCE_TAG) || consumer.get(FORCE_TAG), false) ? FORCED : OPEN) + tag;
}

/** Returns the endpoints of each tag. Of tags with the same name the last one counts, and groups by match before others. */
function groupsOf(tags: readonly Tag[], all: readonly Candidate[]): Groups {
  const groups = new Map<string, ReadonlySet<Candidate>>();
  for (const kind of ["addresses", "match"]) {
    for (const { name, by, tests } of tags) {
      if (by !== kind) continue;
      const members = all.filter(({ parameters }) => tests.every((test) => test(parameters)));
      if (by === "addresses" || members.length > 0) groups.set(name, new Set(members));
    }
  }
  return groups;
}

/** Returns the group of a tag: of its longest level that has one, or of exactly the tag if the call forces it. */
function groupOf(groups: Groups, tag: string, isForced: boolean): ReadonlySet<Candidate> | undefined {
  if (isForced || !tag.includes(LEVEL_SEPARATOR)) return groups.get(tag);
  // Peers may send thousands of levels: each group is compared, not each level.
  const levels = tag.split(LEVEL_SEPARATOR).filter((level) => level !== "");
  const path = [...levels, ""].join(LEVEL_SEPARATOR);
  const found = [...groups].filter(([name]) => name !== "" && path.startsWith(name + LEVEL_SEPARATOR));
  return found.sort(([a], [b]) => b.length - a.length)[0]?.[1];
}

/** Returns the headers that pass the tag of a call on to a call that its handler makes. */
export function forwardTag({ requestHeaders }: Pick<HandlerContext, "requestHeaders">): Record<string, string> {
  const found = [TAG, FORCE_TAG].map((name) => [name, requestHeaders.get(name)] as const);
  return Object.fromEntries(found.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
