/** The differences between the engine and other parsers that are known: what, who is right, and why. Any other one is a finding. */
import { METHODS } from "node:http";
import type { Input } from "./messages.ts";
import type { Difference, Kind } from "./verdict.ts";

interface KnownDifference {
  /** The beginnings of the judges' names. */
  readonly judges: readonly string[];
  readonly kinds: readonly Kind[];
  /** The behaviour of the judges that differs in a message that the engine accepts. */
  readonly what: string;
  /** Who follows RFC 9112: `both` if it leaves the choice. */
  readonly right: "engine" | "both" | "judge";
  readonly why: string;
  applies(difference: Difference, input: Input): boolean;
}

export const DIFFERENCES: readonly KnownDifference[] = [
  {
    judges: ["llhttp"],
    kinds: ["refused"],
    what: "refuses methods that are not in its list",
    right: "both",
    why: "a method is any token (RFC 9110, section 9.1); our protocols answer 405",
    applies: ({ message: { line } }) => line.length === 3 && !METHODS.includes(line[0] as string),
  },
  {
    judges: ["llhttp"],
    kinds: ["incomplete", "body", "end"],
    what: "passes neither a body nor another request after Connection: upgrade",
    right: "both",
    why: "a server may ignore Upgrade (RFC 9110, section 7.8), and then the next request follows",
    applies: (_, { role, text }) => role === "request" && /\r\nconnection:[^\r]*upgrade/i.test(text),
  },
  {
    judges: ["llhttp", "nginx"],
    kinds: ["refused", "incomplete", "body", "end"],
    what: "refuses a tab beside a host, content-length or transfer-encoding, or does not know the coding",
    right: "engine",
    why: "whitespace around a value is no part of it (section 5)",
    applies: (_, { text }) => /\r\n(?:host|content-length|transfer-encoding):[^\r]*\t/i.test(text),
  },
  {
    judges: ["h11", "net/http"],
    kinds: ["refused"],
    what: "refuses an empty line before a request",
    right: "engine",
    why: "a server should ignore at least one (section 2.2)",
    applies: ({ before }, { role, text }) => role === "request" && text.startsWith("\r\n", before),
  },
  {
    judges: ["net/http"],
    kinds: ["refused"],
    what: "refuses an unknown expectation of HTTP/1.0",
    right: "engine",
    why: "a server ignores expectations of HTTP/1.0 (RFC 9110, section 10.1.1)",
    applies: ({ message: { line, fields } }) => line[2] === "0" && fields.includes("expect"),
  },
  {
    judges: ["llhttp"],
    kinds: ["refused", "incomplete"],
    what: "ends the connection after an interim response with Connection: close",
    right: "engine",
    why: "the server closes after the final response (section 9.6)",
    applies: (_, { role, text }) =>
      role === "response" && /HTTP\/1\.1 1\d\d[\s\S]*\r\nconnection:[^\r]*close/i.test(text),
  },
  {
    judges: ["llhttp"],
    kinds: ["refused", "incomplete"],
    what: "ends the connection after trailers with Connection: close",
    right: "engine",
    why: "a field that controls the connection is not allowed in trailers, and ignored there (RFC 9110, section 6.5.1)",
    applies: (_, { text }) => /\r\n0+(?:;[^\r]*)?\r\n(?:[^\r]+\r\n)*connection:[^\r]*close/i.test(text),
  },
  {
    judges: ["hyper"],
    kinds: ["incomplete"],
    what: "ends the connection after a request with trailers",
    right: "both",
    why: "a server may end a connection after any response (section 9.5)",
    applies: (_, { text }) => /\r\n0+(?:;[^\r]*)?\r\n[^\r]/.test(text),
  },
  {
    judges: ["hyper"],
    kinds: ["refused"],
    what: 'refuses characters such as ` and " in a target',
    right: "judge",
    why: "they are not in RFC 3986; for our router a target is opaque text, and they frame nothing",
    applies: ({ message: { line } }) => line.length === 3 && /["<>\\^`{|}]/.test(line[1] as string),
  },
  {
    judges: ["net/http"],
    kinds: ["refused"],
    what: "refuses a percent sign in a target that does not begin the code of a byte",
    right: "judge",
    why: "it is not in RFC 3986 (section 2.1); for our router a target is opaque text, and it frames nothing",
    applies: ({ message: { line } }) => line.length === 3 && /%(?![0-9a-f]{2})/i.test(line[1] as string),
  },
  {
    judges: ["net/http"],
    kinds: ["incomplete"],
    what: "takes close beside a space for the option close",
    right: "engine",
    why: "options are separated by commas (RFC 9110, section 7.6.1)",
    applies: (_, { text }) => /\r\nconnection:[^\r]*(?:[^\s,] +close|close +[^\s,])/i.test(text),
  },
  {
    judges: ["nginx"],
    kinds: ["refused"],
    what: "refuses TRACE, and methods with other characters than capital letters, _ and -",
    right: "both",
    why: "a method is any token (RFC 9110, section 9.1); our protocols answer 405",
    applies: ({ message: { line } }) => line[0] === "TRACE" || !/^[A-Z_-]+$/.test(line[0] as string),
  },
  {
    judges: ["nginx"],
    kinds: ["refused"],
    what: "refuses characters such as + and = in the host of a target",
    right: "engine",
    why: "a name may have them (RFC 3986, section 3.2.2)",
    applies: (_, { text }) => /:\/\/[^/ ]*[!$&'()*+,;=]/.test(text),
  },
  {
    judges: ["nginx"],
    kinds: ["refused"],
    what: "refuses a second field expect",
    right: "engine",
    why: "expectations are a list (RFC 9110, section 10.1.1)",
    applies: ({ message: { fields } }) => fields.filter((name, i) => i % 2 === 0 && name === "expect").length > 1,
  },
  {
    judges: ["nginx"],
    kinds: ["refused"],
    what: "refuses the target *",
    right: "engine",
    why: "OPTIONS has this form (section 3.2.4)",
    applies: ({ message: { line } }) => line[1] === "*",
  },
  {
    judges: ["nginx"],
    kinds: ["incomplete"],
    what: "takes a part of another option for the option close",
    right: "engine",
    why: "options are compared as a whole (RFC 9110, section 7.6.1)",
    applies: (_, { text }) => /\r\nconnection:[^\r]*close/i.test(text),
  },
  {
    judges: ["nginx"],
    kinds: ["refused"],
    what: "refuses an empty host",
    right: "engine",
    why: "clients send it when the target has no authority (section 3.2)",
    applies: (_, { text }) => /\r\nhost:[ \t]*\r\n/i.test(text),
  },
];

/** Returns the row about a difference, if there is one. */
export function knownDifference(judge: string, difference: Difference, input: Input): KnownDifference | undefined {
  return DIFFERENCES.find(
    ({ judges, kinds, applies }) =>
      judges.some((name) => judge.startsWith(name)) && kinds.includes(difference.kind) && applies(difference, input),
  );
}
