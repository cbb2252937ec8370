/** Invalid requests over real connections: each gets the right response, and the next call on the same connection works. */
import { once } from "node:events";
import type { OutgoingHttpHeaders } from "node:http2";
import { gzipSync } from "node:zlib";
import { nodeCompressions, type ServerOptions } from "triple-es/node";
import { describe, expect, it } from "vitest";
import type { GreetServiceHandler } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { type Answer, envelope, type Http1Connection, Http2Connection } from "../../support/connection.ts";
import { pause } from "../../support/pause.ts";
import { type RunningServer, startServer } from "../../support/server.ts";
import { openHttp1, openHttp2, openWay, tlsOf, WAYS } from "../../support/ways.ts";

const GREET = "/greet.v1.GreetService/Greet";
const JSON_TYPE = { "content-type": "application/json" };
const GRPC_TYPE = { "content-type": "application/grpc+json", te: "trailers" };
const LIMIT = 1000;
const OVER_LIMIT = JSON.stringify([{ name: "x".repeat(5 * LIMIT) }]);
const BOMB = gzipSync(OVER_LIMIT);
const many = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, "1"]));

interface BadCall {
  readonly why: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
  readonly httpStatus: number;
  /** The expected members of the error body. */
  readonly error: object;
  readonly answerHeaders?: object;
}

const BAD_CALLS: readonly BadCall[] = [
  { why: "an unknown method", path: "/greet.v1.GreetService/Gone", httpStatus: 404, error: { status: 60 } },
  { why: "an unknown service", path: "/greet.v2.GreetService/Greet", httpStatus: 404, error: { status: 60 } },
  { why: "a path in other letters", path: GREET.toLowerCase(), httpStatus: 404, error: { status: 60 } },
  {
    why: "a version that is not there",
    headers: { "tri-service-version": "2.0.0" },
    httpStatus: 404,
    error: { status: 60 },
  },
  {
    why: "an unknown content type",
    headers: { "content-type": "application/yaml" },
    httpStatus: 415,
    error: { status: 40 },
    answerHeaders: {
      "accept-post": expect.stringContaining("application/proto, application/json, multipart/form-data, "),
    },
  },
  {
    why: "a charset other than UTF-8",
    headers: { "content-type": "application/json; charset=utf-16" },
    httpStatus: 415,
    error: { status: 40 },
  },
  {
    why: "a streaming method",
    path: "/greet.v1.GreetService/GreetTogether",
    httpStatus: 415,
    error: { message: expect.stringContaining("needs gRPC over HTTP/2") },
  },
  { why: "invalid JSON", body: "[{", httpStatus: 400, error: { status: 25 } },
  { why: "JSON of another shape", body: '[{"name":1}]', httpStatus: 400, error: { status: 25 } },
  { why: "no argument", body: "[]", httpStatus: 400, error: { status: 40 } },
  { why: "two arguments", body: "[{},{}]", httpStatus: 400, error: { status: 40 } },
  { why: "an empty body", body: "", httpStatus: 400, error: { status: 40 } },
  {
    why: "invalid proto",
    headers: { "content-type": "application/proto" },
    body: Uint8Array.of(0x0a, 0x7f, 0x41),
    httpStatus: 400,
    error: { status: 25 },
  },
  {
    why: "a timeout of letters",
    headers: { "tri-service-timeout": "soon" },
    httpStatus: 400,
    error: { status: 40 },
  },
  { why: "a timeout of nothing", headers: { "tri-service-timeout": "0" }, httpStatus: 400, error: { status: 40 } },
  {
    why: "another protocol version",
    headers: { "tri-protocol-version": "2.0.0" },
    httpStatus: 400,
    error: { status: 40 },
  },
  { why: "metadata that is no base64", headers: { "x-bytes-bin": "!" }, httpStatus: 400, error: { status: 40 } },
  { why: "metadata of other text than ASCII", headers: { "x-name": "\xe9" }, httpStatus: 400, error: { status: 40 } },
  { why: "metadata under a name out of grammar", headers: { "x!": "1" }, httpStatus: 400, error: { status: 40 } },
  {
    why: "an unknown content encoding",
    headers: { "content-encoding": "lzma" },
    httpStatus: 415,
    error: { status: 40 },
    answerHeaders: { "accept-encoding": nodeCompressions.map(({ name }) => name).join(", ") },
  },
  {
    why: "a body that is not in its content encoding",
    headers: { "content-encoding": "gzip" },
    httpStatus: 400,
    error: { status: 25 },
  },
  {
    why: "more than 100 headers",
    headers: many(101),
    httpStatus: 431,
    error: { status: 40, code: "resource_exhausted" },
  },
  {
    why: "more than 16 KiB of headers",
    headers: { "x-long": "x".repeat(17 * 1024) },
    httpStatus: 431,
    error: { status: 40 },
  },
  {
    why: "a body over the limit",
    body: OVER_LIMIT,
    httpStatus: 413,
    error: { status: 40, code: "resource_exhausted" },
  },
  {
    why: "a body that inflates beyond the limit",
    headers: { "content-encoding": "gzip" },
    body: BOMB,
    httpStatus: 413,
    error: { status: 40 },
  },
];

/** Codes that can be inferred from the HTTP status are omitted from the body. */
function withoutCode(error: object): object {
  const { code: _, ...rest } = error as { code?: string };
  return rest;
}

describe.each(WAYS)("sub-protocol A over $name answers", (way) => {
  it.each(BAD_CALLS)("$why with $httpStatus", async ({ path = GREET, headers, body = "[{}]", ...expected }) => {
    const { port } = await startServer({}, { maxMessageBytes: LIMIT, tls: tlsOf(way) });
    const connection = await openWay(way, port);
    const answer = await connection.post(path, { ...JSON_TYPE, ...headers }, body);
    expect(answer.status).toBe(expected.httpStatus);
    expect(answer.headers["content-type"]).toMatch(/^application\/json\b/);
    expect(answer.headers).toMatchObject(expected.answerHeaders ?? {});
    expect(JSON.parse(answer.body.toString())).toMatchObject(withoutCode(expected.error));
    const next = await connection.post(GREET, JSON_TYPE, '[{"name":"Ada"}]');
    expect(next.body.toString()).toBe('{"greeting":"Hello, Ada!"}');
  });
});

describe("over HTTP/2, the server", () => {
  it("counts header fields itself, far beyond the limit too", async () => {
    const { baseUrl } = await startServer();
    const connection = new Http2Connection(baseUrl);
    const answer = await connection.post(GREET, { ...JSON_TYPE, ...many(1_000) }, "[{}]");
    expect([answer.status, errorOf(answer)]).toMatchObject([431, { status: 40 }]);
    expect((await connection.post(GREET, JSON_TYPE, "[{}]")).status).toBe(200);
  });

  it.each([
    ["a", "b", JSON_TYPE],
    ["a", "b", GRPC_TYPE],
    ["a", "a:8080", JSON_TYPE],
    ["a", "a:443", JSON_TYPE],
    ["[::1]", "[::80]", JSON_TYPE],
  ])("refuses a request to %j whose host is %j, with the reason", async (authority, host, type) => {
    const { baseUrl } = await startServer();
    const connection = new Http2Connection(baseUrl);
    const answer = await connection.post(GREET, { ...type, ":authority": authority, host }, "[{}]");
    expect(answer).toMatchObject({ status: 400, headers: { "content-type": "application/json" }, trailers: {} });
    expect(errorOf(answer)).toEqual({
      status: 40,
      message: "host and :authority must be the same",
      code: "invalid_argument",
    });
    expect((await connection.post(GREET, JSON_TYPE, "[{}]")).status).toBe(200);
  });

  it.each([
    ["http", "localhost", "LOCALHOST"],
    ["http", "localhost", "localhost:80"],
    ["http", "localhost:", "localhost"],
    ["http", "[::1]:80", "[::1]"],
    ["http", "a:8080", "A:8080"],
    ["https", "a", "a:443"],
  ])("serves a request for %s, %j, whose host is %j, which is the same", async (scheme, authority, host) => {
    const { baseUrl } = await startServer();
    const connection = new Http2Connection(baseUrl);
    const answer = await connection.post(
      GREET,
      { ...JSON_TYPE, ":scheme": scheme, ":authority": authority, host },
      "[{}]",
    );
    expect(answer.status).toBe(200);
  });

  it("accepts other calls after it has refused a request", async () => {
    const { baseUrl } = await startServer({}, { limits: { maxHandlers: 1 } });
    const connection = new Http2Connection(baseUrl);
    for (let i = 0; i < 3; i++) {
      const refused = await connection.post(GREET, { ...JSON_TYPE, ":authority": "a", host: "b" }, "[{}]");
      expect(refused.status).toBe(400);
    }
    expect((await connection.post(GREET, JSON_TYPE, "[{}]")).status).toBe(200);
  });

  it("asks for a body that is announced with an expectation", async () => {
    const { baseUrl } = await startServer();
    const { session } = new Http2Connection(baseUrl);
    const stream = session.request({ ":method": "POST", ":path": GREET, ...JSON_TYPE, expect: "100-continue" });
    await once(stream, "continue");
    stream.end("[{}]");
    const [headers] = await once(stream, "response");
    expect(headers[":status"]).toBe(200);
  });
});

/** Returns the error body of a response, which must be JSON. */
function errorOf({ headers, body }: Answer): object {
  expect(headers["content-type"]).toMatch(/^application\/json\b/);
  return JSON.parse(body.toString());
}

describe.each(WAYS.filter(({ version }) => version === "1.1"))("over $name, the server", (way) => {
  const start = (handler: Partial<GreetServiceHandler> = {}, options: ServerOptions = {}): Promise<RunningServer> =>
    startServer(handler, { ...options, tls: tlsOf(way) });
  const open = (port: number): Promise<Http1Connection> => openHttp1(way, port);

  it.each(["http://127.0.0.1", "HTTP://example.test:8080", "https://example.test"])(
    "understands a request target that is a whole URL, such as %s",
    async (origin) => {
      const { port } = await start();
      const connection = await open(port);
      const answer = await connection.post(`${origin}${GREET}?a=b`, JSON_TYPE, '[{"name":"Ada"}]');
      expect(answer.body.toString()).toBe('{"greeting":"Hello, Ada!"}');
      expect((await connection.post(origin, JSON_TYPE, "[{}]")).status).toBe(404);
    },
  );

  it.each(["http://", "http:///", "http://user@b.test/"])(
    "refuses the request target %s, whose host is not valid",
    async (target) => {
      const { port } = await start();
      const connection = await open(port);
      const answer = await connection.post(target, JSON_TYPE, "[{}]");
      expect([answer.status, answer.headers["connection"]]).toEqual([400, "close"]);
      expect(errorOf(answer)).toMatchObject({ status: 40, message: expect.stringContaining("must have a host") });
    },
  );

  it("ignores an expectation over HTTP/1.0", async () => {
    const { port } = await start();
    const connection = await open(port);
    const head = `POST ${GREET} HTTP/1.0\r\ncontent-type: application/json\r\ncontent-length: 4\r\n`;
    connection.write(`${head}expect: 100-continue, x\r\n\r\n[{}]`);
    expect((await connection.answer()).status).toBe(200);
  });

  it("answers CONNECT with 405 and names the right verb", async () => {
    const { port } = await start();
    const connection = await open(port);
    connection.write("CONNECT example.test:443 HTTP/1.1\r\nhost: example.test:443\r\n\r\n");
    const answer = await connection.answer();
    expect([answer.status, answer.headers["allow"]]).toEqual([405, "POST"]);
    expect(errorOf(answer)).toMatchObject({ status: 40 });
  });

  it("answers an invalid request with an error body", async () => {
    const { port } = await start();
    const connection = await open(port);
    connection.write("NONSENSE\r\n\r\n");
    const answer = await connection.answer();
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toEqual({ status: 40, message: "the request is not HTTP/1.1", code: "invalid_argument" });
  });

  const chunked = `POST ${GREET} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n`;

  it.each([
    ["what is no request", "NONSENSE\r\n\r\n", 400],
    ["a tunnel", "CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n", 405],
    ["a malformed body", `${chunked}content-type: application/json\r\n\r\nZZ\r\n`, 400],
    ["a malformed body that it does not need", `${chunked}content-type: a/b\r\n\r\nZZ\r\n`, 400],
  ])("answers %s after the requests before it, and closes the connection", async (_, bytes, status) => {
    const { port } = await start({
      greet: async ({ name }) => {
        await pause(30);
        return { greeting: name };
      },
    });
    const connection = await open(port);
    const bodies = ['[{"name":"Ada"}]', '[{"name":"Bob"}]'];
    const head = `POST ${GREET} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 16\r\n\r\n`;
    connection.write(bodies.map((body) => head + body).join("") + bytes);
    // Each of these bytes makes the request malformed in another way.
    for (const byte of "more") {
      await pause(2);
      connection.write(byte);
    }
    expect((await connection.answer()).body.toString()).toBe('{"greeting":"Ada"}');
    expect((await connection.answer()).body.toString()).toBe('{"greeting":"Bob"}');
    const answer = await connection.answer();
    expect(answer.status).toBe(status);
    expect(errorOf(answer)).toMatchObject({ status: 40 });
    await expect(connection.answer()).rejects.toThrow(/closed after: $/);
  });

  it.each(["GET", "PUT", "DELETE", "PATCH"])("answers the verb %s with 405 and names the right one", async (verb) => {
    const { port } = await start();
    const connection = await open(port);
    connection.write(`${verb} ${GREET} HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n`);
    const answer = await connection.answer();
    expect([answer.status, answer.headers["allow"]]).toEqual([405, "POST"]);
    expect((await connection.post(GREET, JSON_TYPE, "[{}]")).status).toBe(200);
  });

  it("answers a chunked body over the limit with 413 before it has ended", async () => {
    const { port } = await start({}, { maxMessageBytes: LIMIT });
    const connection = await open(port);
    connection.write(`POST ${GREET} HTTP/1.1\r\nhost: a\r\n`);
    connection.write("content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n");
    const chunk = `${(500).toString(16)}\r\n${"x".repeat(500)}\r\n`;
    connection.write(chunk.repeat(3));
    const answer = await connection.answer();
    expect([answer.status, JSON.parse(answer.body.toString()).status]).toEqual([413, 40]);
    connection.write(`${chunk.repeat(3)}0\r\n\r\n`);
    expect((await connection.post(GREET, JSON_TYPE, "[{}]")).status).toBe(200);
  });

  it("understands a chunked body", async () => {
    const { port } = await start();
    const connection = await open(port);
    connection.write(`POST ${GREET} HTTP/1.1\r\nhost: a\r\n`);
    connection.write("content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n");
    connection.write('5\r\n[{"na\r\nb\r\nme":"Ada"}]\r\n0\r\n\r\n');
    expect((await connection.answer()).body.toString()).toBe('{"greeting":"Hello, Ada!"}');
  });

  it.each([
    ["no host", "HTTP/1.1\r\n", 400, "one header host", "invalid_argument"],
    ["another version", "HTTP/2.0\r\nhost: a\r\n", 505, "HTTP/1.1 or HTTP/1.0", "unimplemented"],
    ["another protocol", "RTSP/1.0\r\nhost: a\r\n", 505, "HTTP/1.1 or HTTP/1.0", "unimplemented"],
    ["a host with a space", "HTTP/1.1\r\nhost: a b\r\n", 400, "optional port", "invalid_argument"],
    ["a host with a path", "HTTP/1.1\r\nhost: a/b\r\n", 400, "optional port", "invalid_argument"],
    ["two hosts", "HTTP/1.1\r\nhost: a\r\nhost: b\r\n", 400, "one header host", "invalid_argument"],
    [
      "a transfer coding",
      "HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n",
      501,
      "transfer-encoding",
      "unimplemented",
    ],
    ["an expectation", "HTTP/1.1\r\nhost: a\r\nexpect: 200-ok\r\n", 417, "100-continue", "invalid_argument"],
    ["a similar one", "HTTP/1.1\r\nhost: a\r\nexpect: x-100-continue\r\n", 417, "100-continue", "invalid_argument"],
    ["two of them", "HTTP/1.1\r\nhost: a\r\nexpect: y 100-continue\r\n", 417, "100-continue", "invalid_argument"],
    ["a coding in HTTP/1.0", "HTTP/1.0\r\ntransfer-encoding: chunked\r\n", 400, "HTTP/1.0", "invalid_argument"],
    ["length 2^53", "HTTP/1.1\r\nhost: a\r\ncontent-length: 9007199254740992\r\n", 400, "at most", "invalid_argument"],
    [
      "length 2^63",
      "HTTP/1.1\r\nhost: a\r\ncontent-length: 9223372036854775808\r\n",
      400,
      "at most",
      "invalid_argument",
    ],
  ])(
    "refuses a request with %s, with the reason, and closes the connection",
    async (_, head, status, message, code) => {
      const { port } = await start();
      const connection = await open(port);
      connection.write(`POST ${GREET} ${head}content-type: application/json\r\n\r\n`);
      const answer = await connection.answer();
      expect([answer.status, answer.headers["connection"]]).toEqual([status, "close"]);
      expect(errorOf(answer)).toEqual({ status: 40, message: expect.stringContaining(message), code });
      await expect(connection.answer()).rejects.toThrow("closed");
    },
  );

  describe.each([`POST  ${GREET} HTTP/1.1`, `POST ${GREET}  HTTP/1.1`])(
    "a request line %j, which has two spaces",
    (line) => {
      const request = `${line}\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\n[{}]`;
      const valid = request.replaceAll("  ", " ");

      async function expectRefusal(connection: Http1Connection): Promise<void> {
        const answer = await connection.answer();
        expect([answer.status, answer.headers["connection"]]).toEqual([400, "close"]);
        expect(errorOf(answer)).toEqual({
          status: 40,
          message: expect.stringContaining("one space"),
          code: "invalid_argument",
        });
        await expect(connection.answer()).rejects.toThrow("closed");
      }

      it("is refused in the first request", async () => {
        const connection = await open((await start()).port);
        connection.write(request);
        await expectRefusal(connection);
      });

      it("is refused in a later request", async () => {
        const connection = await open((await start()).port);
        for (let i = 0; i < 2; i++) {
          connection.write(valid);
          expect((await connection.answer()).status).toBe(200);
        }
        connection.write(request);
        await expectRefusal(connection);
      });

      it("is refused in a pipelined request", async () => {
        const connection = await open((await start()).port);
        connection.write(valid + valid + request + valid);
        expect((await connection.answer()).status).toBe(200);
        expect((await connection.answer()).status).toBe(200);
        await expectRefusal(connection);
      });

      it("is refused if it arrives in parts", async () => {
        const connection = await open((await start()).port);
        connection.write(valid);
        expect((await connection.answer()).status).toBe(200);
        for (const part of request.match(/.{1,16}/gs) ?? []) {
          connection.write(part);
          await pause(5);
        }
        await expectRefusal(connection);
      });
    },
  );

  it("serves a request whose value has two spaces", async () => {
    const { port } = await start();
    const connection = await open(port);
    expect((await connection.post(GREET, { ...JSON_TYPE, "x-text": "a  b" }, "[{}]")).status).toBe(200);
  });

  it("serves HTTP/1.0, which needs no host", async () => {
    const { port } = await start();
    const connection = await open(port);
    connection.write(`POST ${GREET} HTTP/1.0\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\n[{}]`);
    expect((await connection.answer()).status).toBe(200);
    await expect(connection.answer()).rejects.toThrow("closed");
  });

  it("asks for a body that is announced with an expectation", async () => {
    const { port } = await start();
    const connection = await open(port);
    const head = `POST ${GREET} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 4\r\n`;
    connection.write(`${head}expect: 100-continue\r\n\r\n`);
    expect((await connection.interim()).status).toBe(100);
    connection.write("[{}]");
    expect((await connection.answer()).status).toBe(200);
  });

  it("refuses a body by its content-length before it arrives, and serves the next request", async () => {
    const { port } = await start({}, { maxMessageBytes: LIMIT });
    const connection = await open(port);
    const head = `POST ${GREET} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n`;
    connection.write(`${head}content-length: ${LIMIT + 1}\r\n\r\n`);
    expect((await connection.answer()).status).toBe(413);
    connection.write("x".repeat(LIMIT + 1));
    expect((await connection.post(GREET, JSON_TYPE, "[{}]")).status).toBe(200);
  });

  it("answers gRPC with 505", async () => {
    const { port } = await start();
    const connection = await open(port);
    const answer = await connection.post(GREET, GRPC_TYPE, envelope("{}"));
    expect([answer.status, answer.body.toString()]).toEqual([
      505,
      expect.stringContaining("gRPC needs HTTP/2 (curl: --http2-prior-knowledge)"),
    ]);
    expect((await connection.post(GREET, JSON_TYPE, "[{}]")).status).toBe(200);
  });

  it("answers headers beyond the parser's limit with 431 and closes the connection", async () => {
    const { port } = await start();
    const connection = await open(port);
    const answer = await connection.post(GREET, { ...JSON_TYPE, "x-long": "x".repeat(64 * 1024) }, "[{}]");
    expect([answer.status, answer.headers["connection"]]).toEqual([431, "close"]);
    expect(errorOf(answer)).toMatchObject({
      status: 40,
      message: expect.stringContaining("too large"),
      code: "resource_exhausted",
    });
  });

  it("does not run a handler for a request that was cut off", async () => {
    let calls = 0;
    const { port } = await start({
      greet: () => {
        calls++;
        return {};
      },
    });
    const connection = await open(port);
    connection.write(
      `POST ${GREET} HTTP/1.1\r\nhost: a\r\ncontent-type: application/proto\r\ncontent-length: 9\r\n\r\n\n\u0003Ada`,
    );
    await pause(20);
    connection.destroy();
    expect((await (await open(port)).post(GREET, JSON_TYPE, "[{}]")).status).toBe(200);
    expect(calls).toBe(1);
  });
});

interface BadGrpcCall {
  readonly why: string;
  readonly path?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: Uint8Array;
  readonly status: number;
  readonly message?: string;
}

const BAD_GRPC_CALLS: readonly BadGrpcCall[] = [
  { why: "an unknown method", path: "/greet.v1.GreetService/Gone", status: 12 },
  { why: "a group that is not there", headers: { "tri-service-group": "blue" }, status: 12 },
  { why: "invalid JSON", body: envelope("{"), status: 13 },
  {
    why: "invalid proto",
    headers: { "content-type": "application/grpc" },
    body: envelope("\x0a\x7fA"),
    status: 13,
  },
  { why: "a truncated message", body: envelope("{}").subarray(0, 6), status: 13 },
  { why: "a truncated prefix", body: Uint8Array.of(0, 0), status: 13 },
  { why: "no message", body: new Uint8Array(), status: 12 },
  { why: "a second message", body: Buffer.concat([envelope("{}"), envelope("{}")]), status: 12 },
  { why: "an unknown flag", body: envelope("{}", 2), status: 13 },
  { why: "a compressed message without an encoding", body: envelope(gzipSync("{}"), 1), status: 13 },
  {
    why: "a message that is not in its encoding",
    headers: { "grpc-encoding": "gzip" },
    body: envelope("{}", 1),
    status: 13,
  },
  { why: "an unknown encoding", headers: { "grpc-encoding": "lzma" }, status: 12, message: "supported are: gzip" },
  { why: "a timeout without unit", headers: { "grpc-timeout": "100" }, status: 3 },
  { why: "a timeout of 9 digits", headers: { "grpc-timeout": "123456789S" }, status: 3 },
  { why: "a timeout that has passed", headers: { "grpc-timeout": "0n" }, status: 4 },
  { why: "metadata that is no base64", headers: { "x-bytes-bin": "!" }, status: 3 },
  { why: "more than 100 headers", headers: many(101), status: 8 },
  { why: "more than 16 KiB of headers", headers: { "x-long": "x".repeat(17 * 1024) }, status: 8 },
  { why: "a message over the limit", body: envelope(OVER_LIMIT), status: 8, message: "bytes is larger than the limit" },
  { why: "a prefix that announces 4 GiB", body: Uint8Array.of(0, 255, 255, 255, 255, 1), status: 8 },
  {
    why: "a message that inflates beyond the limit",
    headers: { "grpc-encoding": "gzip" },
    body: envelope(BOMB, 1),
    status: 8,
  },
];

describe.each(WAYS.filter(({ version }) => version === "2"))("sub-protocol B over $name", (way) => {
  function outcome({ headers, trailers }: Answer): { status: string | undefined; message: string } {
    const end = headers["grpc-status"] === undefined ? trailers : headers;
    return { status: end["grpc-status"], message: end["grpc-message"] ?? "" };
  }

  const cases = ["Greet", "GreetOnArrival"].flatMap((method) => BAD_GRPC_CALLS.map((call) => ({ method, ...call })));
  // A stream may have any number of messages.
  const counted = new Set(["no message", "a second message"]);

  it.each(cases.filter(({ method, why }) => method === "Greet" || !counted.has(why)))(
    "answers $why to $method with grpc-status $status",
    async ({ method, path = `/greet.v1.GreetService/${method}`, headers, body = envelope("{}"), ...expected }) => {
      const { port } = await startServer({}, { maxMessageBytes: LIMIT, tls: tlsOf(way) });
      const connection = openHttp2(way, port);
      const answer = await connection.post(path, { ...GRPC_TYPE, ...headers }, body);
      expect(answer.status).toBe(200);
      expect(answer.headers["content-type"]).toMatch(/^application\/grpc/);
      const { status, message } = outcome(answer);
      expect(status).toBe(String(expected.status));
      if (expected.message !== undefined) expect(message).toContain(expected.message);
      const next = await connection.post(GREET, GRPC_TYPE, envelope('{"name":"Ada"}'));
      expect(next.body).toEqual(envelope('{"greeting":"Hello, Ada!"}'));
    },
  );

  it("refuses other verbs with 405 and unknown codecs with 415, in plain HTTP", async () => {
    const { port } = await startServer({}, { tls: tlsOf(way) });
    const connection = openHttp2(way, port);
    const verb = await connection.post(GREET, { ...GRPC_TYPE, ":method": "PUT" }, envelope("{}"));
    expect([verb.status, verb.headers["allow"]]).toEqual([405, "POST"]);
    const codec = await connection.post(GREET, { "content-type": "application/grpc+yaml" }, envelope("{}"));
    expect(codec.status).toBe(415);
    expect(codec.headers["accept-post"]).toContain("application/grpc+proto");
    expect(outcome(await connection.post(GREET, GRPC_TYPE, envelope("{}"))).status).toBe("0");
  });
});
