/**
 * Exceptions as Hessian 2 has them: objects with a message, a cause and a trace. The names of their classes are words, so any
 * will do.
 */
import { JavaException } from "../exception.ts";
import { setMember } from "../type.ts";
import { RawList, RawObject, type RawValue } from "./raw.ts";

/** More exceptions behind each other, more lines and more fields nobody reads. */
const MAX_CAUSES = 20;
const MAX_TRACE = 200;
const MAX_FIELDS = 2000;
/** The longest name of a class, a method or a file. */
const MAX_NAME = 500;
const THROWABLE_FIELDS = new Set(["detailMessage", "cause", "stackTrace", "suppressedExceptions"]);

/** An exception and those that led to it. `decodeField` makes something of what its class has beside that. */
export function readThrowable(
  raw: RawValue,
  decodeField: (raw: RawValue) => unknown,
  seen: readonly RawObject[] = [],
): JavaException {
  if (!(raw instanceof RawObject)) throw new TypeError("the data is no exception");
  const { name, places } = raw.definition;
  const message = raw.get("detailMessage");
  const cause = raw.get("cause");
  // An exception that nothing led to is its own cause in Java.
  const chained = cause instanceof RawObject && cause !== raw && !seen.includes(cause) && seen.length < MAX_CAUSES;
  const fields: Record<string, unknown> = {};
  for (const [field, place] of [...places].slice(0, MAX_FIELDS)) {
    if (!THROWABLE_FIELDS.has(field)) setMember(fields, field, decodeField(raw.values[place] as RawValue));
  }
  return new JavaException(name.slice(0, MAX_NAME), typeof message === "string" ? message : null, {
    fields,
    trace: toTrace(raw.get("stackTrace")),
    cause: chained ? readThrowable(cause, decodeField, [...seen, raw]) : undefined,
  });
}

/** One line per call, as Java prints them. */
function toTrace(raw: RawValue | undefined): string[] {
  if (!(raw instanceof RawList)) return [];
  return raw.items.slice(0, MAX_TRACE).flatMap((item) => {
    if (!(item instanceof RawObject)) return [];
    const line = item.get("lineNumber");
    const place = [wordOf(item, "fileName") ?? "Unknown Source", ...(Number(line) > 0 ? [line] : [])];
    return [`${wordOf(item, "declaringClass")}.${wordOf(item, "methodName")}(${place.join(":")})`];
  });
}

function wordOf(raw: RawObject, field: string): string | undefined {
  const word = raw.get(field);
  return typeof word === "string" ? word.slice(0, MAX_NAME) : undefined;
}
