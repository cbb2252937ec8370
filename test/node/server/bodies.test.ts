/**
 * Form, multipart, text and XML bodies over real connections: invalid ones are rejected, and the next call on the same
 * connection works; valid ones arrive complete for any division into chunks.
 */
import { once } from "node:events";
import { createServer, type ServerOptions } from "triple-es/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { ParametersServiceDef } from "../../../fixtures/gen/fixture/parameters/v1/parameters_triple.ts";
import { type Answer, Http1Connection, Http2Connection } from "../../support/connection.ts";
import { ECHO, EVERY_BODY } from "../../support/parameters.ts";
import { openWay, tlsOf, WAYS, type Way } from "../../support/ways.ts";

const ALL = "/fixture.parameters.v1.ParametersService/All";
const TEXT = "/fixture.parameters.v1.ParametersService/Text";
const FILE = "/fixture.parameters.v1.ParametersService/File";
const LIMIT = 3_000;
const OWN = { "tri-protocol-version": "1.0.0" };
const FORM = "application/x-www-form-urlencoded";
const MULTIPART = "multipart/form-data; boundary=b";

type Post = (path: string, headers: Record<string, string>, body: string | Uint8Array) => Promise<Answer>;

async function startServer(tls?: ServerOptions["tls"]): Promise<{ port: number; baseUrl: string }> {
  const server = createServer({ maxMessageBytes: LIMIT, tls }).add(ParametersServiceDef, ECHO, { bodies: EVERY_BODY });
  await server.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => server.close({ graceMs: 0 }));
  const { port } = server.address;
  return { port, baseUrl: `http://127.0.0.1:${port}` };
}

/** Posts over one connection. */
async function connect(way: Way): Promise<Post> {
  const { port } = await startServer(tlsOf(way));
  const connection = await openWay(way, port);
  return (path, headers, body) => connection.post(path, headers, body);
}

const part = (headers: string, content = "1"): string => `--b\r\n${headers}\r\n\r\n${content}\r\n`;
const age = 'content-disposition: form-data; name="age"';

interface BadBody {
  readonly why: string;
  readonly type: string;
  readonly body: string | Uint8Array;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly httpStatus?: number;
  readonly status?: number;
  readonly message?: string;
}

const BAD_BODIES: readonly BadBody[] = [
  { why: "an invalid value", type: FORM, body: "age=old", status: 25, message: '"old" is not a number' },
  { why: "a name that is given twice", type: FORM, body: "age=1&age=2", status: 40 },
  { why: "escapes that are none", type: FORM, body: "fullName=%zz", status: 25 },
  { why: "bytes that are no text", type: FORM, body: "fullName=%ff", status: 25 },
  { why: "more than 1,000 values", type: FORM, body: "a&".repeat(1_001), message: "more than 1000 values" },
  { why: "an unknown charset", type: `${FORM}; charset=x`, body: "age=1", httpStatus: 415 },
  { why: "a length over the limit", type: FORM, body: `fullName=${"x".repeat(LIMIT)}`, httpStatus: 413 },
  {
    why: "a sender on another site",
    type: FORM,
    body: "age=1",
    headers: { "sec-fetch-site": "cross-site" },
    httpStatus: 403,
  },
  { why: "no boundary", type: "multipart/form-data", body: part(age), message: "boundary" },
  { why: "a boundary that does not come", type: MULTIPART, body: "--c\r\n\r\n--c--\r\n" },
  { why: "an end that does not come", type: MULTIPART, body: part(age) },
  { why: "no headers that end", type: MULTIPART, body: `--b\r\n${age}` },
  { why: "no disposition", type: MULTIPART, body: `${part("content-type: text/plain")}--b--` },
  { why: "an invalid part", type: MULTIPART, body: `${part(age, "old")}--b--`, status: 25 },
  {
    why: "a part of another type",
    type: MULTIPART,
    body: `${part(`${age}\r\ncontent-type: a/b`)}--b--`,
    httpStatus: 415,
  },
  { why: "129 parts", type: MULTIPART, body: `${"--b\r\n\r\n\r\n".repeat(130)}--b--` },
  { why: "a part over the limit", type: MULTIPART, body: `${part(age, "1".repeat(LIMIT))}--b--`, httpStatus: 413 },
  { why: "bytes that are no UTF-8", type: "text/plain", body: Uint8Array.of(0xff), path: TEXT, status: 25 },
  { why: "half a character", type: "text/plain; charset=utf-16", body: "abc", path: TEXT, status: 25 },
  { why: "bytes beyond ASCII", type: "text/plain; charset=ascii", body: "é", path: TEXT, status: 25 },
  { why: "a charset that there is not", type: "text/plain; charset=klingon", body: "a", path: TEXT, httpStatus: 415 },
  { why: "more than one parameter for it", type: "text/plain", body: "a", httpStatus: 415 },
  { why: "text over the limit", type: "text/plain", body: "a".repeat(LIMIT + 1), path: TEXT, httpStatus: 413 },
  { why: "no end", type: "application/xml", body: "<x>", status: 25 },
  { why: "no root", type: "application/xml", body: "", status: 25 },
  { why: "a document type", type: "application/xml", body: "<!DOCTYPE x><x/>", status: 25 },
  { why: "an entity that there is not", type: "application/xml", body: "<x><fullName>&e;</fullName></x>", status: 25 },
  { why: "an invalid element", type: "application/xml", body: "<x><age>old</age></x>", status: 25 },
  { why: "101 levels", type: "application/xml", body: "<a>".repeat(101), status: 25, message: "100 levels" },
  { why: "a length over it", type: "application/xml", body: `<x>${" ".repeat(LIMIT)}</x>`, httpStatus: 413 },
];

const BYTES = "/fixture.parameters.v1.ParametersService/Bytes";
const field = (name: string, type: string, content: string): string =>
  part(`content-disposition: form-data; name="${name}"\r\ncontent-type: ${type}`, content);

/** Bodies, the content type of the response, and its message. Binary content is not valid UTF-8. */
const BODIES: readonly (readonly [
  why: string,
  path: string,
  type: string,
  body: string,
  answer: string,
  text: string,
])[] = [
  ["a form", ALL, FORM, "fullName=Ada&age=1", "application/json", '{"fullName":"Ada","age":1}'],
  [
    "boxed bytes",
    ALL,
    MULTIPART,
    `${field("boxed", "image/png", "\xff\r\n")}--b--`,
    "application/json",
    '{"boxed":"/w0K"}',
  ],
  ["bytes of a wrapper", BYTES, MULTIPART, `${field("value", "a/b", "\xff")}--b--`, "application/json", '"/w=="'],
  [
    "parts of several types",
    ALL,
    MULTIPART,
    `${field("child", "application/json", '{"age":1}')}${field("children", "application/xml", "<a><age>2</age></a>")}${field("counts", FORM, "a=3")}${field("fullName", "text/plain; charset=iso-8859-1", "\xe9")}--b--`,
    "application/json",
    '{"fullName":"é","counts":{"a":3},"child":{"age":1},"children":[{"age":2}]}',
  ],
  ["text", TEXT, "text/plain; charset=iso-8859-1", "\xe9", "application/json", "é"],
  ["XML", TEXT, "text/xml", "<a>Ada</a>", "text/xml", "Ada"],
  ["an alias of proto", TEXT, "application/x-protobuf", "\n\x03Ada", "application/x-protobuf", "\n\x03Ada"],
];

describe.each(WAYS)("over $name", (way) => {
  it.each(BODIES)("%s is served", async (_, path, type, body, answerType, text) => {
    const post = await connect(way);
    const answer = await post(path, { "content-type": type }, Buffer.from(body, "latin1"));
    expect([answer.status, answer.headers["content-type"], answer.body.toString()]).toEqual([
      200,
      answerType,
      expect.stringContaining(text),
    ]);
  });

  it.each(BAD_BODIES)("$type with $why is refused, and the connection stays open", async (bad) => {
    const post = await connect(way);
    const headers = { ...(bad.headers ?? OWN), "content-type": bad.type };
    const answer = await post(bad.path ?? ALL, headers, bad.body);
    expect(answer.status).toBe(bad.httpStatus ?? 400);
    expect(answer.headers["content-type"]).toMatch(/^application\/json\b/);
    expect(JSON.parse(answer.body.toString())).toMatchObject({
      status: bad.status ?? 40,
      message: expect.stringContaining(bad.message ?? ""),
    });
    for (const [type, body] of [
      [FORM, "age=1"],
      [MULTIPART, `${part(age)}--b--`],
    ] as const) {
      const next = await post(ALL, { ...OWN, "content-type": type }, body);
      expect(next.body.toString()).toBe('{"age":1}');
    }
  });
});

describe("a multipart body that arrives byte by byte", () => {
  const name = 'content-disposition: form-data; name="name"';
  const content = 'content-disposition: form-data; name="content"; filename="a"\r\ncontent-type: image/png';
  const body = Buffer.from(`${part(name, "Ada")}${part(content, "\r\n--bx")}--b--\r\n`.replace("--bx", "--a"));
  const expected = { name: "Ada", content: Buffer.from("\r\n--a").toString("base64") };
  const json = ({ body: bytes }: Answer): unknown => JSON.parse(bytes.toString());

  it("is understood over HTTP/1.1, with a chunk for each byte", async () => {
    const { port } = await startServer();
    const connection = await Http1Connection.open(port);
    connection.write(`POST ${FILE} HTTP/1.1\r\nhost: a\r\ntri-protocol-version: 1\r\ncontent-type: ${MULTIPART}\r\n`);
    connection.write("transfer-encoding: chunked\r\n\r\n");
    for (const byte of body)
      connection.write(Buffer.concat([Buffer.from("1\r\n"), Buffer.of(byte), Buffer.from("\r\n")]));
    connection.write("0\r\n\r\n");
    expect(json(await connection.answer())).toEqual(expected);
  });

  it("is understood over HTTP/1.1, cut into packets at its every byte", async () => {
    const { port } = await startServer();
    const connection = await Http1Connection.open(port);
    const head = `POST ${FILE} HTTP/1.1\r\nhost: a\r\ntri-protocol-version: 1\r\ncontent-type: ${MULTIPART}\r\n`;
    const whole = Buffer.concat([Buffer.from(`${head}content-length: ${body.length}\r\n\r\n`), body]);
    for (const byte of whole) await connection.flush(Buffer.of(byte));
    expect(json(await connection.answer())).toEqual(expected);
  });

  it("is understood over HTTP/2, with a frame for each byte", async () => {
    const { baseUrl } = await startServer();
    const { session } = new Http2Connection(baseUrl);
    const stream = session.request({ ":method": "POST", ":path": FILE, ...OWN, "content-type": MULTIPART });
    for (const byte of body) await new Promise((resolve) => stream.write(Buffer.of(byte), resolve));
    stream.end();
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    await once(stream, "end");
    expect(JSON.parse(Buffer.concat(chunks).toString())).toEqual(expected);
  });
});
