/**
 * Tag routing: calls with a tag go to endpoints with this tag, calls without one to endpoints without any. The tag of an
 * endpoint is its parameter `dubbo.tag` (static), or given by the rule `APPLICATION.tag-router` (dynamic). Without a rule,
 * static tags apply.
 */
import { addressTest } from "./address.ts";
import { booleanOf, type Fields, fieldsOf, isPresent, parseDocument, readHeader, textOf, textsOf } from "./document.ts";
import { matchText, parseMatch, type TextMatch } from "./match.ts";
import { type Candidate, keep, type Parameters, type Rule, type RuleRequest, to } from "./subject.ts";

export const TAG = "dubbo.tag";
export const FORCE_TAG = "dubbo.force.tag";

/** The separator of the levels of a tag: `a|b` also selects the group `a`, if there is no group `a|b`. */
const LEVEL_SEPARATOR = "|";

/** The endpoints of a tag, by their addresses or by their parameters. */
interface Tag {
  readonly name: string;
  readonly addresses: readonly string[];
  readonly match: readonly { readonly key: string; readonly value: TextMatch }[] | undefined;
}

/** The rule of an application. */
interface TagRule {
  readonly force: boolean;
  readonly tags: readonly Tag[];
}

/** Parses the text of a tag rule. Throws an `Error` with the reason if it is malformed. */
export function parseTagRule(text: string): Rule {
  const document = parseDocument(text);
  const { version, enabled, force } = readHeader(document);
  const { tags } = document;
  if (isPresent(tags) && !Array.isArray(tags)) throw new Error("tags must be a list");
  const isV3 = version?.startsWith("v3.0") ?? false;
  const parsed = ((tags ?? []) as unknown[]).map((tag, index) =>
    parseTag(fieldsOf(tag, `tags[${index}]`), index, isV3),
  );
  const isValid = parsed.length > 0 && booleanOf(document["valid"], true);
  return tagRouting(enabled && isValid ? { force, tags: parsed } : undefined);
}

function parseTag(fields: Fields, index: number, isV3: boolean): Tag {
  const at = `tags[${index}]`;
  const name = textOf(fields["name"], `${at}.name`);
  if (name === undefined) throw new Error(`${at} has no name`);
  const addresses = textsOf(fields["addresses"], `${at}.addresses`) ?? [];
  const { match } = fields;
  if (!isV3 || addresses.length > 0) return { name, addresses, match: undefined };
  if (!Array.isArray(match)) throw new Error(`${at} must have a list of addresses or of match`);
  return { name, addresses, match: match.map((one, position) => parseMatch(one, `${at}.match[${position}]`)) };
}

/** Makes the tag routing with a rule, and with static tags only if there is none. */
export function tagRouting(rule: TagRule | undefined): Rule {
  return (consumer, all) => {
    const groups = groupsOf(rule, all);
    const tagged = new Set([...groups.values()].flatMap((group) => [...group]));
    const isPlain = (one: Candidate): boolean => !one.parameters.get(TAG) && !tagged.has(one);
    const isForced = rule?.force ?? false;

    function select(candidates: readonly Candidate[], tag: string, isForcedByCall: boolean): readonly Candidate[] {
      const group = groupOf(groups, tag, isForcedByCall);
      const found = keep(candidates, (one) => group?.has(one) ?? one.parameters.get(TAG) === tag);
      if (found.length > 0 || isForcedByCall || (isForced && group !== undefined)) return found;
      return keep(candidates, isPlain);
    }

    return [
      {
        outcomeOf: (request) => outcomeOf(request, consumer),
        route(candidates, outcome) {
          if (outcome === "") return to(keep(candidates, isPlain));
          const [mark, tag] = [String(outcome)[0], String(outcome).slice(1)];
          return to(select(candidates, tag, mark === FORCED));
        },
      },
    ];
  };
}

/** The marks before the tag of a call in the outcome of a request. */
const FORCED = "!";
const OPEN = " ";

function outcomeOf({ attachment }: RuleRequest, consumer: Parameters): string {
  const tag = attachment(TAG) || consumer.get(TAG);
  if (!tag) return "";
  const force = attachment(FORCE_TAG) || consumer.get(FORCE_TAG);
  return (force?.toLowerCase() === "true" ? FORCED : OPEN) + tag;
}

/** Returns the endpoints of each tag of a rule. Groups by parameters replace groups by addresses. */
function groupsOf(rule: TagRule | undefined, all: readonly Candidate[]): ReadonlyMap<string, ReadonlySet<Candidate>> {
  const groups = new Map<string, ReadonlySet<Candidate>>();
  for (const { name, addresses } of rule?.tags ?? []) {
    if (addresses.length === 0) continue;
    const tests = addresses.map(addressTest);
    const isMember = ({ parameters }: Candidate): boolean =>
      tests.some((test) => test(parameters.get("host") ?? "", parameters.get("port") ?? ""));
    groups.set(name, new Set(all.filter(isMember)));
  }
  for (const { name, match } of rule?.tags ?? []) {
    if (match === undefined) continue;
    const isMember = ({ parameters }: Candidate): boolean =>
      match.every(({ key, value }) => matchText(value, parameters.get(key)));
    const members = all.filter(isMember);
    if (members.length > 0) groups.set(name, new Set(members));
  }
  return groups;
}

/** Returns the group of a tag: of its longest level that has one, or of exactly the tag if the call forces it. */
function groupOf(
  groups: ReadonlyMap<string, ReadonlySet<Candidate>>,
  tag: string,
  isForced: boolean,
): ReadonlySet<Candidate> | undefined {
  if (isForced || !tag.includes(LEVEL_SEPARATOR)) return groups.get(tag);
  const levels = tag.split(LEVEL_SEPARATOR).filter((level) => level !== "");
  for (let count = levels.length; count > 0; count--) {
    const group = groups.get(levels.slice(0, count).join(LEVEL_SEPARATOR));
    if (group !== undefined) return group;
  }
  return undefined;
}
