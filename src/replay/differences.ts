/** Differences of JSON values, with their paths. The order of the members of an object does not count. */
import { REDACTED } from "../../runtime/src/observe/redaction.ts";

export interface Difference {
  /** The path, such as `order.items[0].price`. */
  readonly path: string;
  /** The recorded value; `undefined` if there is none. */
  readonly recorded: unknown;
  /** The value of the replay; `undefined` if there is none. */
  readonly replayed: unknown;
}

/** The path of a value, and its path without indices, which `--ignore` has. */
interface Place {
  readonly path: string;
  readonly name: string;
}

const ROOT: Place = { path: "", name: "" };

/** Returns the differences of two values, without those at or below ignored paths. */
export function differencesOf(
  recorded: unknown,
  replayed: unknown,
  ignore: readonly string[],
  place: Place = ROOT,
): Difference[] {
  if (Object.is(recorded, replayed) || recorded === REDACTED || ignore.includes(place.name)) return [];
  if (Array.isArray(recorded) && Array.isArray(replayed)) {
    return Array.from({ length: Math.max(recorded.length, replayed.length) }, (_, i) => i).flatMap((i) =>
      differencesOf(recorded[i], replayed[i], ignore, { path: `${place.path}[${i}]`, name: place.name }),
    );
  }
  if (isObject(recorded) && isObject(replayed)) {
    const names = new Set([...Object.keys(recorded), ...Object.keys(replayed)]);
    return [...names].flatMap((name) => differencesOf(recorded[name], replayed[name], ignore, member(place, name)));
  }
  return [{ path: place.path, recorded, replayed }];
}

function member({ path, name }: Place, key: string): Place {
  return { path: path === "" ? key : `${path}.${key}`, name: name === "" ? key : `${name}.${key}` };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
