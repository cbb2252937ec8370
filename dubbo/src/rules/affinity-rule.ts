/**
 * Affinity rules: `KEY.affinity-router`. Calls go to the endpoints with the consumer's value of a parameter, such as its
 * region, if these are at least `ratio` percent of all.
 */
import { compileThen } from "./condition.ts";
import { fieldsOf, parseDocument, readHeader, textOf } from "./document.ts";
import { keep, type Rule, to } from "./subject.ts";

/** Parses the text of an affinity rule. Throws an `Error` with the reason if it is malformed. */
export function parseAffinityRule(text: string): Rule {
  const document = parseDocument(text);
  const { version, enabled } = readHeader(document);
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
