/** Routes of REST on a router: the rules of the router apply, and mistakes are found when a service is added. */
import { gzipSync } from "node:zlib";
import express from "express";
import { Code, createRouter, type Interceptor, type RouterOptions, RpcError } from "triple-es";
import { fetchHandler } from "triple-es/fetch";
import { createServer, nodeHandler } from "triple-es/node";
import { addRest, type RestRule } from "triple-es/rest";
import { describe, expect, it, onTestFinished } from "vitest";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { ParametersServiceDef } from "../../fixtures/gen/fixture/parameters/v1/parameters_triple.ts";
import { MessagingServiceDef } from "../../fixtures/gen/fixture/rest/v1/rest_triple.ts";
import { ask, VERSIONS } from "../support/ask.ts";
import { grpcRequest, rpcRequest } from "../support/greeter.ts";
import { ECHO } from "../support/parameters.ts";
import { greeter } from "../support/server.ts";
import { createMessaging, type ReceivedCall } from "./messaging.ts";

function serve(options: RouterOptions = {}, service: Parameters<typeof createMessaging>[0] = () => {}) {
  const router = createRouter(options).add(MessagingServiceDef, createMessaging(service));
  addRest(router);
  const handle = fetchHandler(router);
  return (method: string, target: string, init: RequestInit = {}) =>
    handle(new Request(`http://localhost${target}`, { method, ...init }));
}

async function readJson(response: Response): Promise<{ code?: string; message?: string; text?: string }> {
  return (await response.json()) as { code?: string; message?: string; text?: string };
}

const JSON_HEADERS = { "content-type": "application/json" };

describe.each(VERSIONS)("a server over %s", (version) => {
  it("answers routes on the port of the calls", async () => {
    const calls: ReceivedCall[] = [];
    const server = createServer().add(
      MessagingServiceDef,
      createMessaging((call) => calls.push(call)),
    );
    addRest(server);
    await server.listen({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => server.close());
    const url = `http://127.0.0.1:${server.address.port}`;
    const { status, text } = await ask(version, `${url}/v2/messages/1?revision=2`);
    expect([status, text, calls[0]?.request]).toEqual([
      200,
      '{"text":"GetMessage"}',
      { messageId: "1", revision: "2" },
    ]);
    expect(calls[0]?.context.peer.address).toBe("127.0.0.1");
    const body = JSON.stringify({ text: "Hi!" });
    const patched = await ask(version, `${url}/v3/messages/1`, { method: "PATCH", headers: JSON_HEADERS, body });
    expect([patched.status, calls[1]?.request]).toEqual([200, { messageId: "1", message: { text: "Hi!" } }]);
    const head = await ask(version, `${url}/v1/messages/1`, { method: "HEAD" });
    expect([head.status, head.text, head.headers["content-length"]]).toEqual([200, "", "19"]);
    // The route of all methods, and errors.
    for (const [path, status] of [
      ["/v6/any/a", 200],
      ["/v1/none", 404],
      ["/v6/links/a", 405],
    ] as const) {
      const reply = await ask(version, url + path, { method: "HEAD" });
      expect([reply.status, reply.text]).toEqual([status, ""]);
    }
  });
});

it("answers routes in Express, and passes other paths on", async () => {
  const router = createRouter().add(
    MessagingServiceDef,
    createMessaging(() => {}),
  );
  addRest(router);
  const app = express()
    .use(nodeHandler(router))
    .use((_request, response) => void response.send("other"));
  const listening = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => listening.once("listening", resolve));
  onTestFinished(() => void listening.close());
  const { port } = listening.address() as { port: number };
  expect((await ask("HTTP/1.1", `http://127.0.0.1:${port}/v1/messages/1`)).text).toBe('{"text":"GetNamed"}');
  expect((await ask("HTTP/1.1", `http://127.0.0.1:${port}/v9/messages/1`)).text).toBe("other");
});

describe("a call at a route", () => {
  it("passes interceptors, which see the method with its schema", async () => {
    const seen: unknown[] = [];
    const interceptor: Interceptor = (next) => (request) => {
      seen.push(request.method.path, request.method.input?.typeName, request.headers.get("x-token"));
      return next(request);
    };
    const send = serve({ interceptors: [interceptor] });
    expect((await send("GET", "/v1/messages/1", { headers: { "x-token": "t" } })).status).toBe(200);
    expect(seen).toEqual(["/fixture.rest.v1.MessagingService/GetNamed", "fixture.rest.v1.NameRequest", "t"]);
  });

  it("has the errors of handlers with their HTTP status", async () => {
    const send = serve({}, () => {
      throw new RpcError(Code.NotFound, "no such message");
    });
    const response = await send("GET", "/v1/messages/1");
    expect([response.status, await response.json()]).toEqual([
      404,
      { status: 70, message: "no such message", code: "not_found" },
    ]);
  });

  it("has the deadline and the metadata of a call", async () => {
    const calls: ReceivedCall[] = [];
    const send = serve({}, (call) => {
      call.context.responseTrailers.set("x-cost", "7");
      calls.push(call);
    });
    const response = await send("GET", "/v1/messages/1", { headers: { "tri-service-timeout": "5000" } });
    expect(response.headers.get("trailer-x-cost")).toBe("7");
    expect(calls[0]?.context.timeoutMs()).toBeLessThanOrEqual(5000);
  });

  it("is refused if its body is larger than the limit", async () => {
    const send = serve({ maxMessageBytes: 1_000 });
    const body = JSON.stringify({ text: "x".repeat(1_000) });
    expect((await send("PATCH", "/v4/messages/1", { headers: JSON_HEADERS, body })).status).toBe(413);
  });

  it("takes a body of more than 16 KiB, and refuses one of too many values", async () => {
    const calls: ReceivedCall[] = [];
    const send = serve({ maxMessageValues: 10_000 }, (call) => calls.push(call));
    const post = (body: string) => send("POST", "/v1/shelves/1/messages:batchCreate", { headers: JSON_HEADERS, body });
    expect((await post(JSON.stringify([{ text: "x".repeat(40_000) }]))).status).toBe(200);
    expect(calls[0]?.request).toMatchObject({ parent: "shelves/1" });
    const response = await post(`[${"{},".repeat(20_000)}{}]`);
    expect([response.status, (await readJson(response)).code]).toEqual([413, "resource_exhausted"]);
  });

  it("is refused if the body is nested too deeply, or names too many fields", async () => {
    const send = serve();
    const body = `${'{"sub":'.repeat(200)}{}${"}".repeat(200)}`;
    expect((await send("PATCH", "/v4/messages/1", { headers: JSON_HEADERS, body })).status).toBe(400);
    expect((await send("GET", `/v2/messages/1?${"sub.".repeat(200)}subfield=x`)).status).toBe(400);
    expect((await send("GET", `/v2/messages/1?${"tags=x&".repeat(1_001)}`)).status).toBe(400);
  });

  it("takes compressed bodies", async () => {
    const calls: ReceivedCall[] = [];
    const send = serve({}, (call) => calls.push(call));
    const headers = { ...JSON_HEADERS, "content-encoding": "gzip" };
    const body = new Uint8Array(gzipSync(JSON.stringify({ text: "Hi!" })));
    expect((await send("PATCH", "/v4/messages/1", { headers, body })).status).toBe(200);
    expect(calls[0]?.request).toEqual({ messageId: "1", text: "Hi!" });
  });

  it("reaches a service with a version, and another version by the header", async () => {
    const named = (name: string) => ({ ...createMessaging(() => {}), getNamed: () => ({ text: name }) });
    const router = createRouter()
      .add(MessagingServiceDef, named("first"), { version: "1" })
      .add(MessagingServiceDef, named("second"), { version: "2" });
    addRest(router);
    const get = async (headers: Record<string, string> = {}) => {
      const request = new Request("http://localhost/v1/messages/1", { headers });
      return (await readJson(await fetchHandler(router)(request))).text;
    };
    expect([await get(), await get({ "tri-service-version": "2" })]).toEqual(["first", "second"]);
  });
});

describe("a call of a method that can be called with GET", () => {
  const path = "/fixture.rest.v1.MessagingService/Count";
  const router = createRouter().add(
    MessagingServiceDef,
    createMessaging(() => {}),
    { version: "1" },
  );
  addRest(router);
  const headers = { "tri-service-version": "2" };

  it("and is not served in the version is answered by its protocol", async () => {
    const { status } = await router.exchange(rpcRequest({ path, headers }));
    const overGrpc = await router.exchange(grpcRequest({ path, headers }));
    expect([status, overGrpc.status, overGrpc.headers.get("grpc-status")]).toEqual([404, 200, "12"]);
  });
});

describe("pages of other sites", () => {
  const page = { origin: "https://page.example", "sec-fetch-site": "cross-site" };

  it("cannot send a request without a preflight, other than GET", async () => {
    const send = serve();
    const response = await send("POST", "/v1/messages/1:touch", { headers: page });
    expect([response.status, (await readJson(response)).message]).toEqual([
      403,
      expect.stringContaining("a request without a JSON body is refused from pages of other sites"),
    ]);
    expect(
      (await send("POST", "/v1/messages/1:touch", { headers: { ...page, "content-type": "text/plain" } })).status,
    ).toBe(403);
    expect((await send("POST", "/v1/messages/1:touch", { headers: { ...page, ...JSON_HEADERS } })).status).toBe(200);
    expect((await send("GET", "/v1/messages/1", { headers: page })).status).toBe(200);
  });

  it("may use the HTTP methods of routes with the option cors", async () => {
    const send = serve({ cors: { origins: [page.origin] } });
    const preflight = async (target: string, method: string) => {
      const headers = { ...page, "access-control-request-method": method };
      const response = await send("OPTIONS", target, { headers });
      return [response.status, response.headers.get("access-control-allow-methods")];
    };
    expect(await preflight("/v3/messages/1", "PATCH")).toEqual([204, "PATCH"]);
    expect(await preflight("/fixture.rest.v1.MessagingService/GetNamed", "POST")).toEqual([204, "POST"]);
    expect(await preflight("/nothing", "PATCH")).toEqual([204, "POST"]);
    const response = await send("POST", "/v1/messages/1:touch", { headers: page });
    expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([200, page.origin]);
  });
});

describe("the option rules", () => {
  const withRules = (rules: readonly RestRule[]) => {
    const router = createRouter()
      .add(GreetServiceDef, greeter)
      .add(
        MessagingServiceDef,
        createMessaging(() => {}),
      );
    addRest(router, { rules });
    return fetchHandler(router);
  };

  it("gives a method a route, and replaces its annotation", async () => {
    const handle = withRules([
      { selector: "greet.v1.GreetService.Greet", get: "/hello/{name}", responseBody: "greeting" },
      { selector: "fixture.rest.v1.MessagingService.GetNamed", get: "/named/{name}" },
    ]);
    const get = async (path: string) => (await handle(new Request(`http://localhost${path}`))).text();
    expect(await get("/hello/Ann")).toBe('"Hello, Ann!"');
    expect(await get("/named/a")).toBe('{"text":"GetNamed"}');
    expect(JSON.parse(await get("/v1/messages/1")).message).toContain("takes DELETE");
  });

  it("may take the value of a wrapper from the path or the query", async () => {
    const router = createRouter().add(ParametersServiceDef, ECHO);
    const selector = "fixture.parameters.v1.ParametersService.Text";
    addRest(router, { rules: [{ selector, get: "/text/{value}", additionalBindings: [{ get: "/text" }] }] });
    const get = async (path: string) => (await fetchHandler(router)(new Request(`http://localhost${path}`))).json();
    expect([await get("/text/a"), await get("/text?value=b"), await get("/text")]).toEqual(["a", "b", ""]);
    const posted = createRouter().add(ParametersServiceDef, ECHO);
    addRest(posted, { rules: [{ selector, post: "/text", body: "*" }] });
    const post = (body: string) =>
      fetchHandler(posted)(
        new Request("http://localhost/text", { method: "POST", headers: { "content-type": "application/json" }, body }),
      );
    expect(await (await post('"c"')).json()).toBe("c");
    expect((await post('{"vlaue":"c"}')).status).toBe(400);
  });

  it("may take the response from a wrapper, or from a field of its type", async () => {
    const router = createRouter().add(ParametersServiceDef, ECHO);
    const service = "fixture.parameters.v1.ParametersService";
    addRest(router, {
      rules: [
        { selector: `${service}.Text`, get: "/text/{value}", responseBody: "value" },
        { selector: `${service}.All`, get: "/all", responseBody: "maybe" },
      ],
    });
    const get = async (path: string) => (await fetchHandler(router)(new Request(`http://localhost${path}`))).json();
    expect([await get("/text/a"), await get("/all?maybe=7"), await get("/all?maybe=0"), await get("/all")]).toEqual([
      "a",
      7,
      0,
      0,
    ]);
  });

  it("may match every path, and leaves calls over gRPC to their protocol", async () => {
    const router = createRouter().add(GreetServiceDef, greeter);
    addRest(router, { rules: [{ selector: "greet.v1.GreetService.Greet", post: "/{name=**}", body: "*" }] });
    const path = "/greet.v1.GreetService/Unknown";
    const [plain, overGrpc, overWeb] = await Promise.all([
      router.exchange(rpcRequest({ path, body: "{}" })),
      router.exchange(grpcRequest({ path })),
      router.exchange(grpcRequest({ path, headers: { "content-type": "application/grpc-web+proto" } })),
    ]);
    expect(plain.headers.get("content-type")).toBe("application/json");
    expect([overGrpc.status, overGrpc.headers.get("grpc-status")]).toEqual([200, "12"]);
    expect(overWeb.headers.get("content-type")).toBe("application/grpc-web+proto");
  });

  const greet = "greet.v1.GreetService.Greet";
  it.each<[string, RestRule, string]>([
    ["no pattern", { selector: greet }, "it has no pattern, such as get or post"],
    ["no slash", { selector: greet, get: "hello" }, 'the path template "hello" must start with /'],
    ["an empty segment", { selector: greet, get: "/a//b" }, "has an empty segment"],
    ["an open brace", { selector: greet, get: "/{name" }, 'has the invalid segment "{name"'],
    ["a nested variable", { selector: greet, get: "/{name={name}}" }, "has the invalid segment"],
    ["an invalid name", { selector: greet, get: "/{na-me}" }, 'has a variable with the invalid name "na-me"'],
    ["segments after **", { selector: greet, get: "/**/a" }, "has segments after **, which must be the last one"],
    ["an invalid verb", { selector: greet, get: "/a:" }, 'has the invalid verb ":"'],
    ["an unknown field", { selector: greet, get: "/{unknown}" }, 'greet.v1.GreetRequest has no field "unknown"'],
    [
      "an unknown field of the body",
      { selector: greet, post: "/a", body: "b" },
      'body: greet.v1.GreetRequest has no field "b"',
    ],
    [
      "an unknown field of the response",
      { selector: greet, get: "/a", responseBody: "b" },
      'response_body: greet.v1.GreetResponse has no field "b"',
    ],
    ["a body of GET", { selector: greet, get: "/a", body: "*" }, "GET has no body"],
    ["two variables for a field", { selector: greet, get: "/{name}/{name}" }, 'has two variables for "name"'],
    ["an invalid HTTP method", { selector: greet, custom: { kind: "A B", path: "/a" } }, '"A B" is not an HTTP method'],
    [
      "an unknown member",
      { selector: greet, got: "/a" } as RestRule,
      "the rule of greet.v1.GreetService.Greet is invalid",
    ],
    ["no selector", { get: "/a" } as unknown as RestRule, "rules[0] must have a selector"],
  ])("with %s is refused", (_what, rule, message) => {
    expect(() => withRules([rule])).toThrow(message);
  });

  it("with the route of another method is refused, also when its service is added later", () => {
    const rule = { selector: greet, get: "/v1/messages/{name}" };
    const problem =
      "/fixture.rest.v1.MessagingService/GetNamed and /greet.v1.GreetService/Greet have the same route: " +
      "GET /v1/{name=messages/*} matches the same paths as /v1/messages/{name}";
    expect(() => withRules([rule])).toThrow(problem);
    const router = createRouter().add(GreetServiceDef, greeter);
    addRest(router, { rules: [rule] });
    expect(() =>
      router.add(
        MessagingServiceDef,
        createMessaging(() => {}),
      ),
    ).toThrow(problem);
  });
});
