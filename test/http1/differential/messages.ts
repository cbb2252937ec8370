/** Input for parsers of HTTP/1.1: known variants, messages from a grammar, and both with mutations of bytes. */
import fc from "fast-check";
import { bytes, G, REFUSED, SERVED } from "../requests.ts";
import { LAST, OK, REFUSED as REFUSED_RESPONSES, REUSED } from "../responses.ts";

/** The input of a parser. */
export interface Input {
  readonly role: "request" | "response";
  /** True if the responses are to requests with the method HEAD. */
  readonly isHead: boolean;
  /** Bytes, as Latin-1, and then their end. */
  readonly text: string;
  /** The ends of chunks, in ascending order, in which the engine must make the same of the bytes. */
  readonly ends: readonly number[];
}

const usual = <T>(value: fc.Arbitrary<T>, unusual: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 25, arbitrary: value }, { weight: 1, arbitrary: unusual });

const framing = fc.constantFrom(
  ...["0", "5", "5", "5", "010", "5, 5", "5,", "+5", "-5", "0x5", "5 ", "5\t", "\x0b5", "5;", "9007199254740992"].map(
    (length) => `Content-Length: ${length}`,
  ),
  ...["chunked", "chunked", "chunked", "CHUNKED", "gzip, chunked", "chunked, gzip", "identity", "", '"chunked"'].map(
    (coding) => `Transfer-Encoding: ${coding}`,
  ),
  ...["chunked;a", "\x0bchunked", "chunked\t", ",chunked", "chunked,", "x", "chunked\0"].map(
    (coding) => `transfer-encoding: ${coding}`,
  ),
  "Content-Length : 5",
  "Content_Length: 5",
  "Content-Length\xa0: 5",
  "Transfer-Encoding\t: chunked",
  "Transfer-Encoding:\r\n chunked",
  "Content-Length:\r\n\t5",
  " Content-Length: 5",
);
const plain = fc.constantFrom(
  "Accept: */*",
  "X: a\tb \t",
  "X:",
  "X:y",
  "X: \xe4\xff\x80",
  "x_y: z",
  "a'!#$%&*+-.^`|~: b",
);
const field = fc.constantFrom("X: a\r\n b", "X: a\x01b", "X@: y", ": x", "x", `Long: ${"l".repeat(300)}`);
const connection = fc.constantFrom(
  "Connection: close",
  "connection: keep-alive",
  "Connection: x, CLOSE ,y",
  "Connection: Content-Length",
  "Connection: close-not",
  "Connection: Upgrade\r\nUpgrade: websocket",
);
const requestField = fc.constantFrom(
  "Expect: 100-continue",
  "Expect: x",
  "Host: b",
  "Host: a",
  "Upgrade: h2c",
  "TE: trailers",
);

const size = fc.constantFrom("05", "5;a=b", '5;a="b;\\""', "5;", "5 ", "5\t;a", "0x5", "5;a\n", "5\r", "");
const chunk = fc
  .tuple(usual(fc.constantFrom("5", "5", "5;a=b"), size), fc.constantFrom("hello", "hello", "\r\n0\r\n"))
  .map(([first, data]) => `${first}\r\n${data}\r\n`);
const trailers = usual(
  fc.constantFrom("", "", "", "A: b\r\n", "Host: b\r\n"),
  fc.constantFrom("A: b\r\n c\r\n", "Content-Length: 5\r\n", "x\r\n", "A: b\n"),
);
const chunks = fc
  .tuple(
    fc.array(chunk, { maxLength: 2 }),
    usual(fc.constantFrom("0", "0", "000", "0;x"), fc.constantFrom("-0", "0 ", "", "0;", "0\n")),
    trailers,
  )
  .map(([list, last, fields]) => `${list.join("")}${last}\r\n${fields}\r\n`);
const GET = bytes(G);

/** Fields that frame a body, with a body that fits them, or not. */
type Framed = [fields: string[], body: string];
const framed: fc.Arbitrary<Framed> = fc.oneof(
  fc.constant<Framed>([[], ""]),
  fc.constantFrom("hello", GET.slice(0, 5)).map((body): Framed => [["Content-Length: 5"], body]),
  fc.constant<Framed>([[`content-length: ${GET.length}`], GET]),
  chunks.map((body): Framed => [["Transfer-Encoding: chunked"], body]),
  chunks.map((body): Framed => [["transfer-encoding: Chunked"], body]),
  fc.tuple(fc.array(framing, { maxLength: 2 }), fc.oneof(chunks, fc.constantFrom("", "hello", GET))),
);

const lineEnd = fc.oneof(
  { weight: 60, arbitrary: fc.constant("\r\n") },
  { weight: 1, arbitrary: fc.constantFrom("\n", "\r", "\r\r\n", "\n\r\n", " \r\n") },
);

function messages(
  line: fc.Arbitrary<string>,
  first: readonly string[],
  own: fc.Arbitrary<string>,
): fc.Arbitrary<string> {
  const others = fc.array(fc.oneof({ weight: 4, arbitrary: usual(plain, field) }, connection, own), { maxLength: 2 });
  return fc
    .tuple(line, framed, others, fc.boolean(), lineEnd, lineEnd, lineEnd)
    .map(([start, [fields, body], more, isFirst, ...ends]) => {
      const [one = "\r\n", two = "\r\n", three = "\r\n"] = ends;
      const all = isFirst ? [...first, ...fields, ...more] : [...more, ...first, ...fields];
      return [start, one, ...all.flatMap((f, i) => [f, i === 0 ? two : "\r\n"]), three, body].join("");
    });
}

const requestLine = fc
  .tuple(
    usual(
      fc.constantFrom("GET", "POST", "HEAD", "OPTIONS", "DELETE"),
      fc.constantFrom("get", "PRI", "CONNECT", "A_B", "", 'G"'),
    ),
    usual(
      fc.constantFrom("/", "/a?b=%20", "//x/y", '/\\"<>^{}`'),
      fc.constantFrom("*", "http://b/c", "HTTP://b:80?d", "http://u@b/", "a:80", "", "/a b", "/\xe4", "/#", "/\x0b"),
    ),
    usual(
      fc.constant("HTTP/1.1"),
      fc.constantFrom("HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "http/1.1", "HTTP/1.1 ", "HTTP/01.1", ""),
    ),
    usual(fc.constant(" "), fc.constantFrom("  ", "\t", "\x0b", "\r", "\xa0")),
  )
  .map(([method, target, version, space]) => `${method} ${target}${space}${version}`);
const request = messages(requestLine, ["Host: a"], requestField);

const statusLine = fc
  .tuple(
    usual(fc.constant("HTTP/1.1"), fc.constantFrom("HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "http/1.1", "HTTP/1.1 ", "ICY")),
    usual(
      fc.constantFrom("200", "204", "304", "404", "103"),
      fc.constantFrom("101", "000", "20", "999", "2000", "+20", "2 0"),
    ),
    usual(fc.constantFrom(" OK", " ", "", " a\tb", " \xe4", "  x"), fc.constantFrom(" a\x01", " a\0", " a\rb", "\tOK")),
  )
  .map(([version, status, reason]) => `${version} ${status}${reason}`);
const response = messages(statusLine, ["X: y"], fc.constant("Keep-Alive: timeout=5"));

const BYTES = [
  "\r",
  "\n",
  "\r\n",
  "\0",
  "\x0b",
  "\t",
  " ",
  ":",
  ";",
  ",",
  "-",
  "+",
  "0",
  "1",
  "5",
  "a",
  "x",
  "_",
  '"',
  "=",
  "\x7f",
  "\x85",
  "\xa0",
  "\xff",
];
const mutation = fc.record({
  at: fc.nat(10_000),
  kind: fc.constantFrom("delete", "double", "insert", "replace", "flip", "cut", "copy"),
  byte: fc.constantFrom(...BYTES),
  length: fc.integer({ min: 1, max: 30 }),
  to: fc.nat(10_000),
});
const mutations = fc.oneof(
  fc.constant([]),
  fc.array(mutation, { minLength: 1, maxLength: 1 }),
  fc.array(mutation, { minLength: 1, maxLength: 1 }),
  fc.array(mutation, { maxLength: 4 }),
);

function mutate(text: string, { at, kind, byte, length, to }: ReturnType<typeof mutation.generate>["value"]): string {
  const i = at % (text.length + 1);
  const j = to % (text.length + 1);
  const code = text.charCodeAt(i);
  switch (kind) {
    case "delete":
      return text.slice(0, i) + text.slice(i + 1);
    case "double":
      return text.slice(0, i + 1) + text.slice(i);
    case "insert":
      return text.slice(0, i) + byte + text.slice(i);
    case "replace":
      return text.slice(0, i) + byte + text.slice(i + 1);
    case "flip":
      return i === text.length
        ? text
        : text.slice(0, i) + String.fromCharCode(code ^ (1 << (to % 8))) + text.slice(i + 1);
    case "cut":
      return text.slice(0, i) + text.slice(i + length);
    default:
      return text.slice(0, j) + text.slice(i, i + length) + text.slice(j);
  }
}

const KNOWN_REQUESTS = [...REFUSED.flatMap(([, , ...texts]) => texts), ...SERVED.map(([, text]) => text)].map(bytes);
const KNOWN_RESPONSES = [
  ...REUSED.map(([, text]) => text),
  ...LAST.map(([, text]) => text),
  ...REFUSED_RESPONSES.flatMap(([, ...texts]) => texts),
].map(bytes);

/** A request after the others: it shows if a parser finds another start of it. */
const LAST_REQUEST = "GET /last HTTP/1.1\r\nHost: a\r\n\r\n";

function inputs(
  role: Input["role"],
  known: readonly string[],
  message: fc.Arbitrary<string>,
  last: string,
): fc.Arbitrary<Input> {
  return fc
    .tuple(
      fc.array(fc.oneof({ weight: 4, arbitrary: message }, { weight: 1, arbitrary: fc.constantFrom(...known) }), {
        minLength: 1,
        maxLength: 3,
      }),
      mutations,
      fc.nat(7),
      fc.array(fc.nat(400), { maxLength: 6 }),
    )
    .map(([list, changes, kind, ends]) => ({
      role,
      isHead: role === "response" && kind === 1,
      text: changes.reduce(mutate, list.join("")) + (kind === 0 ? "" : last),
      ends: ends.sort((a, b) => a - b),
    }));
}

export const INPUTS: Readonly<Record<Input["role"], fc.Arbitrary<Input>>> = {
  request: inputs("request", KNOWN_REQUESTS, request, LAST_REQUEST),
  response: inputs("response", KNOWN_RESPONSES, response, bytes(OK)),
};

/** The known variants, each with its name and followed by another message. */
export const VARIANTS: readonly (readonly [name: string, input: Input])[] = [
  ...[
    ...REFUSED.map(([name, , ...texts]) => [name, texts] as const),
    ...SERVED.map(([name, text]) => [name, [text]] as const),
  ].flatMap(([name, texts]) => texts.map((text) => [name, toInput("request", text)] as const)),
  ...[
    ...REFUSED_RESPONSES.map(([name, ...texts]) => [name, texts] as const),
    ...[...REUSED, ...LAST].map(([name, text]) => [name, [text]] as const),
  ].flatMap(([name, texts]) => texts.map((text) => [`a response ${name}`, toInput("response", text)] as const)),
];

function toInput(role: Input["role"], text: string): Input {
  return { role, isHead: false, text: bytes(text) + (role === "request" ? LAST_REQUEST : bytes(OK)), ends: [] };
}
