/**
 * Exceptions in Hessian 2: objects with a message, a cause and a stack trace. Class names are plain text here, so any name is
 * accepted.
 */
import { setEntry } from "triple-es/internal";
import { JavaException } from "../exception.ts";
import { RawList, RawObject, type RawValue } from "./raw.ts";

/** Limits on the chain of causes, the lines of a stack trace and the fields of an exception. The rest is dropped. */
const MAX_CAUSES = 20;
const MAX_TRACE = 200;
const MAX_FIELDS = 2000;
/** Longest name of a class, a method or a file, in characters. */
const MAX_NAME = 500;
const THROWABLE_FIELDS = new Set(["detailMessage", "cause", "stackTrace", "suppressedExceptions"]);

/** Decodes an exception and its causes. `decodeField` decodes the fields of its class. */
export function readThrowable(
  raw: RawValue,
  decodeField: (raw: RawValue) => unknown,
  seen: readonly RawObject[] = [],
): JavaException {
  if (!(raw instanceof RawObject)) throw new TypeError("the data is not an exception");
  const { name, places } = raw.definition;
  const message = raw.get("detailMessage");
  const cause = raw.get("cause");
  // In Java an exception without a cause is its own cause.
  const chained = cause instanceof RawObject && cause !== raw && !seen.includes(cause) && seen.length < MAX_CAUSES;
  const fields: Record<string, unknown> = {};
  for (const [field, place] of [...places].slice(0, MAX_FIELDS)) {
    if (!THROWABLE_FIELDS.has(field)) setEntry(fields, field, decodeField(raw.values[place] as RawValue));
  }
  return new JavaException(name.slice(0, MAX_NAME), typeof message === "string" ? message : null, {
    fields,
    trace: toTrace(raw.get("stackTrace")),
    cause: chained ? readThrowable(cause, decodeField, [...seen, raw]) : undefined,
  });
}

/** Decodes the stack trace to one line per call, in the form that Java prints. */
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
