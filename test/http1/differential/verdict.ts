/** Verdicts: the messages that a parser reads from its input, in a form that is the same for all parsers. */

/** A message whose head has been accepted. */
export interface Message {
  /** Method, target and minor version, or status and minor version. */
  readonly line: readonly string[];
  /** Names in lower case and values, in turn. */
  readonly fields: readonly string[];
  /** The content of the body, as Latin-1. */
  readonly body: string;
  /** The position of the next message; -1 if the parser does not tell it. */
  readonly end: number;
  /** False if the body was invalid, or if the input ended in it. */
  readonly isWhole: boolean;
}

export interface Verdict {
  /** All messages but interim responses. */
  readonly messages: readonly Message[];
  /** True if the parser has refused the input after the messages, or in the body of the last one. */
  readonly isRefused: boolean;
  /** True if the messages are those that a proxy passed on: whole ones, without their fields. */
  readonly isProxied?: boolean;
  /** The reason of the engine for a refusal. */
  readonly reason?: string | undefined;
}

/** The kind of difference between a parser and the engine in a message that the engine accepts. */
export type Kind = "refused" | "incomplete" | "line" | "fields" | "body" | "end";

export interface Difference {
  readonly kind: Kind;
  /** The end of the message before it. */
  readonly before: number;
  readonly message: Message;
  readonly other: Message | undefined;
}

/** Returns the first difference about a message that the engine accepts. The engine may refuse what others accept. */
export function compare(own: Verdict, other: Verdict): Difference | undefined {
  for (const [i, message] of own.messages.entries()) {
    const their = other.messages[i];
    const kind = kindOf(message, their, other);
    if (kind !== undefined) return { kind, before: own.messages[i - 1]?.end ?? 0, message, other: their };
  }
  return undefined;
}

function kindOf(own: Message, other: Message | undefined, { isRefused, isProxied }: Verdict): Kind | undefined {
  if (isProxied && !own.isWhole) return undefined;
  // A message that is not whole at the end of the input is refused by the engine, too, but not before.
  if (other === undefined || (own.isWhole && !other.isWhole)) return isRefused ? "refused" : "incomplete";
  const their = resolved(other);
  if (!isEqual(own.line, their.line)) return "line";
  if (!isProxied && !isEqual(sorted(own.fields), sorted(their.fields))) return "fields";
  if (own.isWhole !== their.isWhole) return "end";
  if (!own.isWhole) return undefined;
  if (own.body !== their.body) return "body";
  return own.end === their.end || their.end < 0 ? undefined : "end";
}

/**
 * Moves the host of a target in absolute-form to the field host, as RFC 9112, section 3.2.2, says. The engine does so itself; parsers
 * leave it to their users.
 */
function resolved(message: Message): Message {
  const { line, fields } = message;
  const [method = "", target = "", ...rest] = line;
  const [origin = "", authority = ""] = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(target) ?? [];
  if (rest.length === 0 || origin === "") return message;
  const path = target.slice(origin.length);
  const others = fields.filter((_, i) => fields[i - (i % 2)] !== "host");
  return {
    ...message,
    line: [method, path.startsWith("/") ? path : `/${path}`, ...rest],
    fields: ["host", authority, ...others],
  };
}

/** Fields that some parsers take out of the list. An empty host is like none to Go. */
const TAKEN = ["transfer-encoding", "trailer", "connection"];

/** Returns fields by name. Some parsers do not keep the order of different names. */
function sorted(fields: readonly string[]): string[] {
  const pairs: [name: string, value: string][] = [];
  for (let i = 0; i < fields.length; i += 2) pairs.push([fields[i] as string, fields[i + 1] as string]);
  return pairs
    .filter(([name, value]) => !TAKEN.includes(name) && (name !== "host" || value !== ""))
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .flat();
}

function isEqual(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((one, i) => one === b[i]);
}
