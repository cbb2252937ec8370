/**
 * Metadata with names that have a meaning in HTTP, over real connections: repeated values, and names that Node does not
 * send.
 */
import { constants } from "node:http2";
import { Code, Metadata } from "triple-es";
import { describe, expect, it, onTestFinished } from "vitest";
import { emptyBody, WholeBody } from "../../../runtime/src/http/body.ts";
import { createConnector } from "../../../runtime/src/node/client/connector.ts";
import { readFields, toHttp2Headers } from "../../../runtime/src/node/server/adapter/headers.ts";
import { Listener } from "../../../runtime/src/node/server/listener/listener.ts";
import { Http2Connection } from "../../support/connection.ts";
import { connectGreeter, failureOf, startServer } from "../../support/server.ts";

const TRANSPORTS = [
  { protocol: "grpc", httpVersion: "2" },
  { protocol: "http-rpc", httpVersion: "1.1" },
  { protocol: "http-rpc", httpVersion: "2" },
] as const;

const TWICE: [string, string][] = ["authorization", "etag", "user-agent", "referer"].flatMap((name) => [
  [name, "one"],
  [name, "two"],
]);

describe.each(TRANSPORTS)("over $protocol, HTTP/$httpVersion", (options) => {
  it("fields that HTTP has only once arrive as one field when they are given twice", async () => {
    let received: (string | undefined)[] = [];
    const { baseUrl } = await startServer({
      greet: (_, { requestHeaders, responseHeaders, responseTrailers }) => {
        received = ["authorization", "etag"].map((name) => requestHeaders.get(name));
        for (const [name, value] of TWICE) {
          responseHeaders.append(name, value);
          responseTrailers.append(name, value);
        }
        return {};
      },
    });
    const seen: (string | undefined)[] = [];
    const note = (fields: Metadata): unknown => seen.push(fields.get("authorization"), fields.get("etag"));
    const client = connectGreeter(baseUrl, options);
    await client.greet({}, { headers: TWICE, onHeaders: note, onTrailers: note });
    expect(received).toEqual(["one, two", "one, two"]);
    expect(seen).toEqual(["one, two", "one, two", "one, two", "one, two"]);
  });

  it("fields of the user's own stay apart", async () => {
    const { baseUrl } = await startServer({
      greet: (_, { requestHeaders, responseTrailers }) => {
        for (const value of requestHeaders.getAll("x-own")) responseTrailers.append("x-own", value);
        return {};
      },
    });
    let trailers = new Metadata();
    const headers: [string, string][] = [
      ["x-own", "one"],
      ["x-own", "two"],
    ];
    await connectGreeter(baseUrl, options).greet({}, { headers, onTrailers: (fields) => (trailers = fields) });
    expect(trailers.getAll("x-own")).toEqual(["one", "two"]);
  });
});

describe("over HTTP/2", () => {
  it("cookies that arrive in several fields become one field", async () => {
    let cookie: string[] = [];
    const { baseUrl } = await startServer({
      greet: (_, { requestHeaders }) => {
        cookie = requestHeaders.getAll("cookie");
        return {};
      },
    });
    const headers = { "content-type": "application/json", cookie: ["session=1", "theme=dark"] };
    const answer = await new Http2Connection(baseUrl).post("/greet.v1.GreetService/Greet", headers, "[{}]");
    expect([answer.headers[":status"], cookie]).toEqual([200, ["session=1; theme=dark"]]);
  });

  it.each(["application/json", "application/grpc"])(
    "cookies count by themselves against the limit on headers, for %s",
    async (type) => {
      let calls = 0;
      const { baseUrl } = await startServer({
        greet: () => {
          calls++;
          return {};
        },
      });
      const ask = async (count: number): Promise<unknown> => {
        const headers = { "content-type": type, cookie: Array.from({ length: count }, () => "a=1") };
        const body = type === "application/json" ? "[{}]" : new Uint8Array(5);
        const answer = await new Http2Connection(baseUrl).post("/greet.v1.GreetService/Greet", headers, body);
        return answer.headers["grpc-status"] ?? answer.trailers["grpc-status"] ?? String(answer.headers[":status"]);
      };
      // More cookies than a browser stores for an origin, and more than 16 KiB, at 41 bytes each.
      expect([await ask(200), await ask(1_000)]).toEqual(type === "application/json" ? ["200", "431"] : ["0", "8"]);
      expect(calls).toBe(1);
    },
  );

  it("a value that looks like the name of a cookie is not treated as one", () => {
    expect([...readFields([":path", "/", "x-own", "cookie", "cookie", "a=1", "cookie", "cookie"])]).toEqual([
      ["x-own", "cookie"],
      ["cookie", "a=1; cookie"],
    ]);
    expect([...readFields(["x-own", "cookie", "x-other", "cookie"])]).toEqual([
      ["x-own", "cookie"],
      ["x-other", "cookie"],
    ]);
  });

  const refused = new Set(["connection", "upgrade", "http2-settings", "keep-alive", "proxy-connection", "te"]);
  const names = Object.entries(constants)
    .filter(([key]) => key.startsWith("HTTP2_HEADER_"))
    .map(([, name]) => String(name))
    .filter((name) => !(name.startsWith(":") || name === "transfer-encoding" || refused.has(name)));

  it("every name known to Node can be sent twice", async () => {
    const { baseUrl } = await startServer();
    const { session } = new Http2Connection(baseUrl);
    for (const name of names) {
      const headers = toHttp2Headers(
        new Metadata([
          [name, "1"],
          [name, "1"],
        ]),
      );
      const stream = session.request({ ":method": "POST", ...headers });
      stream.on("error", () => {});
      stream.close();
    }
  });

  it("a field named as a member of objects has its own value", () => {
    const fields = [...new Metadata({ constructor: "1" }), ...new Metadata({ constructor: "2" })];
    expect({ ...toHttp2Headers(new Metadata(fields.slice(1))) }).toEqual({ constructor: "2" });
    expect({ ...toHttp2Headers(new Metadata(fields)) }).toEqual({ constructor: ["1", "2"] });
  });

  it("trailers that Node will not send end the exchange, and neither the process nor the connection", async () => {
    const listener = new Listener(
      async ({ path }) => ({
        status: 200,
        headers: new Metadata(),
        body: new WholeBody(Buffer.from("answer")),
        trailers: Metadata.fromRaw([path === "/bad" ? "http2-settings" : "x-good", "AAMAAABk"]),
      }),
      {},
    );
    await listener.listen({ host: "127.0.0.1", port: 0 });
    onTestFinished(() => listener.close(0));
    const connection = new Http2Connection(`http://127.0.0.1:${listener.address.port}`);
    await expect(connection.post("/bad", {})).rejects.toThrow("NGHTTP2_INTERNAL_ERROR");
    expect((await connection.post("/good", {})).trailers["x-good"]).toBe("AAMAAABk");
  });

  it("a request that Node will not send fails as internal and names the field", async () => {
    const { baseUrl } = await startServer();
    const { exchange, close } = createConnector({ baseUrl, httpVersion: "2", maxHeaderBytes: 65_536 });
    onTestFinished(close);
    const get = (headers: Metadata): ReturnType<typeof exchange> =>
      exchange({ method: "GET", path: "/", version: "2", headers, body: emptyBody, signal: undefined });
    const { code, rawMessage } = await failureOf(get(Metadata.fromRaw(["http2-settings", "AAMAAABk"])));
    expect([code, rawMessage]).toEqual([Code.Internal, expect.stringContaining("http2-settings")]);
    expect((await get(new Metadata())).status).toBeGreaterThan(0);
  });
});
