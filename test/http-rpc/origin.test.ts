/**
 * Protection against cross-site request forgery: form, multipart and text bodies, which browsers send to any site without a
 * preflight, are checked by `sec-fetch-site` and `origin`.
 */
import { once } from "node:events";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { createRouter, type RouterOptions } from "triple-es";
import { fetchHandler } from "triple-es/fetch";
import { createServer, nodeHandler } from "triple-es/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { ParametersServiceDef } from "../../fixtures/gen/fixture/parameters/v1/parameters_triple.ts";
import { Http1Connection, Http2Connection } from "../support/connection.ts";
import type { Fields } from "../support/greeter.ts";
import { ECHO, routeParameters } from "../support/parameters.ts";

const FORM = "application/x-www-form-urlencoded";
const MULTIPART = "multipart/form-data; boundary=b";
const MULTIPART_BODY = '--b\r\nContent-Disposition: form-data; name="fullName"\r\n\r\nAda\r\n--b--\r\n';

/**
 * Returns the HTTP statuses of a form, a multipart body and a text body with these headers, or a single one if they are
 * equal.
 */
async function statuses(headers: Fields, options: RouterOptions = {}): Promise<unknown> {
  const send = routeParameters({ bodies: undefined }, options);
  const fields = { "tri-protocol-version": undefined, ...headers };
  const answers = [
    await send("all", FORM, "fullName=Ada", fields),
    await send("all", MULTIPART, MULTIPART_BODY, fields),
    await send("text", "text/plain", "Ada", fields),
  ];
  const all = new Set(answers.map(({ status }) => status));
  return all.size === 1 ? answers[0]?.status : [...all];
}

describe("a form, multipart or text body, without any option", () => {
  it.each<[string, Fields, number]>([
    ["no browser at all", {}, 200],
    ["a page of its own origin", { "sec-fetch-site": "same-origin", origin: "https://a.example", host: "x" }, 200],
    ["the address bar", { "sec-fetch-site": "none" }, 200],
    [
      "a page of another site",
      { "sec-fetch-site": "cross-site", origin: "https://evil.example", host: "a.example" },
      403,
    ],
    ["a page of another site that hides its origin", { "sec-fetch-site": "cross-site" }, 403],
    [
      "a page of a sibling domain",
      { "sec-fetch-site": "same-site", origin: "https://b.a.example", host: "a.example" },
      403,
    ],
    [
      "a page whose origin alone looks right",
      { "sec-fetch-site": "cross-site", origin: "https://a.example", host: "a.example" },
      403,
    ],
    ["a value that no browser sends", { "sec-fetch-site": "" }, 403],
    ["two contradicting values", { "sec-fetch-site": ["same-origin", "cross-site"] }, 403],
    ["an old browser on a page of its own", { origin: "https://a.example", host: "A.example" }, 200],
    ["an old browser on a page of its own port", { origin: "https://a.example:8443", host: "a.example:8443" }, 200],
    [
      "an old browser, and a host that names the default port of https",
      { origin: "https://a.example", host: "a.example:443" },
      200,
    ],
    [
      "an old browser, and a host that names the default port of http",
      { origin: "http://a.example", host: "a.example:80" },
      200,
    ],
    [
      "an old browser, and a host that names the default port of another scheme",
      { origin: "http://a.example", host: "a.example:443" },
      403,
    ],
    ["an old browser on a page of another port", { origin: "https://a.example:8444", host: "a.example:8443" }, 403],
    ["an old browser on a page of another site", { origin: "https://evil.example", host: "a.example" }, 403],
    ["an old browser on a sandboxed page", { origin: "null", host: "null" }, 403],
    ["an origin, where no host is known", { origin: "https://a.example" }, 403],
    [
      "a page of another site that may set the version header",
      { "sec-fetch-site": "cross-site", "tri-protocol-version": "1.0.0" },
      200,
    ],
  ])("from %s", async (_, headers, status) => {
    expect(await statuses(headers)).toBe(status);
  });

  it("is refused with the reason and two remedies, without a call of the method", async () => {
    const { body } = await routeParameters()("all", FORM, "fullName=Ada", {
      "tri-protocol-version": undefined,
      "sec-fetch-site": "cross-site",
    });
    expect(body).toEqual({
      status: 40,
      message:
        "content type application/x-www-form-urlencoded is refused from pages of other sites (sec-fetch-site: cross-site); " +
        "allow the origin with the option cors, or send tri-protocol-version: 1.0.0",
      code: "permission_denied",
    });
  });

  it("is served to all origins if a service turns the protection off", async () => {
    const send = routeParameters({ csrf: false });
    const headers = { "tri-protocol-version": undefined, "sec-fetch-site": "cross-site" };
    expect((await send("all", FORM, "fullName=Ada", headers)).status).toBe(200);
  });

  it("does not concern JSON and XML, which a page of another origin cannot send without a preflight", async () => {
    const send = routeParameters();
    const headers = {
      "tri-protocol-version": undefined,
      "sec-fetch-site": "cross-site",
      origin: "https://evil.example",
    };
    expect((await send("all", "application/json", "[{}]", headers)).status).toBe(200);
    expect((await send("all", "application/xml", "<x/>", headers)).status).toBe(200);
  });
});

describe("an origin that cors allows", () => {
  const page = { "sec-fetch-site": "cross-site", origin: "https://app.example.com" };
  const old = { origin: "https://app.example.com", host: "a.example" };
  const cookie = { cookie: "session=1" };
  const authorization = { authorization: "Basic YTpi" };
  const listed = { origins: ["https://app.example.com"] };

  it.each<[string, RouterOptions["cors"], Fields, number]>([
    ["sends forms", listed, page, 200],
    ["sends forms from an old browser", listed, old, 200],
    ["sends cookies where it may", { ...listed, credentials: true }, { ...page, ...cookie }, 200],
    ["sends no cookies where it may not", listed, { ...page, ...cookie }, 403],
    ["sends no password where it may not", listed, { ...page, ...authorization }, 403],
    ["is not another one", listed, { ...page, origin: "https://other.example.com" }, 403],
    ["is any, but without cookies, where all are allowed", { origins: "*" }, page, 200],
    ["is refused with cookies if all origins are allowed", { origins: "*" }, { ...page, ...cookie }, 403],
    ["has to be said", listed, { "sec-fetch-site": "cross-site" }, 403],
  ])("%s", async (_, cors, headers, status) => {
    expect(await statuses(headers, { cors })).toBe(status);
  });
});

describe.each(["HTTP/1.1", "HTTP/2", "fetch", "a handler for node:http2"] as const)("over %s", (way) => {
  type Post = (headers: (host: string) => Record<string, string>) => Promise<number>;
  const PATH = "/fixture.parameters.v1.ParametersService/All";

  async function connect(): Promise<Post> {
    const router = createRouter().add(ParametersServiceDef, ECHO);
    if (way === "fetch") {
      const handler = fetchHandler(router);
      return async (headers) => {
        const init = { method: "POST", body: "age=1", headers: { "content-type": FORM, ...headers("a.example") } };
        return (await handler(new Request(`https://a.example${PATH}`, init))).status;
      };
    }
    const port = way === "a handler for node:http2" ? await listenHttp2() : await listen();
    const host = `127.0.0.1:${port}`;
    const connection = way === "HTTP/1.1" ? await Http1Connection.open(port) : new Http2Connection(`http://${host}`);
    return async (headers) => {
      const own: Record<string, string> = way === "HTTP/1.1" ? { host } : {};
      return (await connection.post(PATH, { "content-type": FORM, ...own, ...headers(host) }, "age=1")).status;
    };

    async function listen(): Promise<number> {
      const server = createServer().add(ParametersServiceDef, ECHO);
      await server.listen({ port: 0, host: "127.0.0.1" });
      onTestFinished(() => server.close({ graceMs: 0 }));
      return server.address.port;
    }

    async function listenHttp2(): Promise<number> {
      const server = createHttp2Server(nodeHandler(router)).listen(0, "127.0.0.1");
      onTestFinished(() => void server.close());
      await once(server, "listening");
      return (server.address() as AddressInfo).port;
    }
  }

  it("a form of a page of the same origin is served, one of another site is refused", async () => {
    const post = await connect();
    expect(await post(() => ({}))).toBe(200);
    expect(await post(() => ({ "sec-fetch-site": "same-origin" }))).toBe(200);
    expect(await post(() => ({ "sec-fetch-site": "cross-site" }))).toBe(403);
    expect(await post((host) => ({ origin: `${way === "fetch" ? "https" : "http"}://${host}` }))).toBe(200);
    expect(await post(() => ({ origin: "http://evil.example" }))).toBe(403);
  });
});
