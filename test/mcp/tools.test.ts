/** Tools of models: transcripts of both families of revisions, hostile requests, and calls through interceptors and limits. */
import { Code, createRouter, type Interceptor, type Router, type RouterOptions, RpcError } from "triple-es";
import { addMcp } from "triple-es/mcp";
import { addOpenApi } from "triple-es/openapi";
import { describe, expect, it } from "vitest";
import { GreetServiceDef, type GreetServiceHandler } from "../../examples/gen/greet/v1/greet_triple.ts";
import contract from "../../fixtures/contract/gen/shop_triple.json" with { type: "json" };
import { ShopDef } from "../../fixtures/contract/gen/shop_triple.ts";
import { IdempotencyServiceDef } from "../../fixtures/gen/fixture/idempotency/v1/idempotency_triple.ts";
import { shop } from "../contract/typescript/shop.ts";
import { type Fields, rpcRequest, textOf } from "../support/greeter.ts";
import { greeter } from "../support/server.ts";

const MODERN = "2026-07-28";
const META = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientCapabilities": {},
};
const GREET = "greet.v1.GreetService.Greet";
const GREET_EACH = "greet.v1.GreetService.GreetEach";
const SERVER_INFO = { "io.modelcontextprotocol/serverInfo": { name: "greet.v1.GreetService", version: "1.0.0" } };

function routerOf(handler: Partial<GreetServiceHandler> = {}, options: RouterOptions = {}): Router {
  const router = createRouter(options).add(GreetServiceDef, { ...greeter, ...handler });
  addMcp(router, [GREET, GREET_EACH]);
  return router;
}

/** Posts a body, and returns the status and the body of the response as JSON, or its events. */
async function post(router: Router, body: unknown, headers: Fields = {}) {
  const response = await router.exchange(
    rpcRequest({
      path: "/mcp",
      headers: { accept: "application/json, text/event-stream", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    }),
  );
  const text = await textOf(response);
  const isEvents = response.headers.get("content-type") === "text/event-stream";
  const events = isEvents
    ? Array.from(text.matchAll(/^data: (.*)$/gm), ([, data = ""]) => JSON.parse(data))
    : undefined;
  return { status: response.status, headers: response.headers, body: events ?? (text === "" ? "" : JSON.parse(text)) };
}

/** Sends a request of the revision 2026-07-28, with its headers. */
function send(router: Router, method: string, params: object = {}, headers: Fields = {}) {
  const { name, _meta = {} } = params as { name?: string; _meta?: object };
  const message = { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: { ...META, ..._meta } } };
  return post(router, message, {
    "mcp-protocol-version": MODERN,
    "mcp-method": method,
    ...(name === undefined ? {} : { "mcp-name": name }),
    ...headers,
  });
}

const callTool = (router: Router, name: string, args: unknown, headers: Fields = {}) =>
  send(router, "tools/call", { name, arguments: args }, headers);

describe("the revision 2026-07-28", () => {
  it("is discovered", async () => {
    const { status, body } = await send(routerOf(), "server/discover");
    expect(status).toBe(200);
    expect(body).toEqual({
      jsonrpc: "2.0",
      id: 1,
      result: {
        resultType: "complete",
        supportedVersions: [MODERN, "2025-11-25", "2025-06-18", "2025-03-26"],
        capabilities: { tools: {} },
        ttlMs: 300_000,
        cacheScope: "public",
        _meta: SERVER_INFO,
      },
    });
  });

  it("lists the chosen methods with schemas that need no other document", async () => {
    const { body } = await send(routerOf(), "tools/list");
    const { tools, ...rest } = body.result;
    expect(rest).toEqual({ resultType: "complete", ttlMs: 300_000, cacheScope: "public", _meta: SERVER_INFO });
    const greeting = { type: "object", properties: { greeting: { type: "string" } } };
    expect(tools).toEqual([
      {
        name: GREET,
        title: "Greet",
        inputSchema: { type: "object", properties: { name: { type: "string" } } },
        outputSchema: greeting,
      },
      {
        name: GREET_EACH,
        title: "GreetEach",
        description: "The result has all messages of a stream.",
        inputSchema: { type: "object", properties: { names: { type: "array", items: { type: "string" } } } },
        outputSchema: {
          type: "object",
          properties: { messages: { type: "array", items: { $ref: "#/$defs/greet.v1.GreetEachResponse" } } },
          required: ["messages"],
          $defs: { "greet.v1.GreetEachResponse": greeting },
        },
      },
    ]);
  });

  it("calls a unary method", async () => {
    const { body } = await callTool(routerOf(), GREET, { name: "Ada" });
    expect(body.result).toEqual({
      resultType: "complete",
      content: [{ type: "text", text: '{"greeting":"Hello, Ada!"}' }],
      structuredContent: { greeting: "Hello, Ada!" },
      _meta: SERVER_INFO,
    });
  });

  it("sends the messages of a stream as progress if the client asks, and the result at the end", async () => {
    const params = { name: GREET_EACH, arguments: { names: ["Ada", "Bo"] }, _meta: { progressToken: "t" } };
    const { body, headers } = await send(routerOf(), "tools/call", params);
    const progress = (count: number, message: string) => ({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken: "t", progress: count, message },
    });
    const messages = [{ greeting: "Hello, Ada!" }, { greeting: "Hello, Bo!" }];
    expect(headers.get("x-accel-buffering")).toBe("no");
    expect(body).toEqual([
      progress(1, '{"greeting":"Hello, Ada!"}'),
      progress(2, '{"greeting":"Hello, Bo!"}'),
      { jsonrpc: "2.0", id: 1, result: expect.objectContaining({ structuredContent: { messages } }) },
    ]);
    const plain = await callTool(routerOf(), GREET_EACH, { names: ["Ada", "Bo"] });
    expect(plain.body.result.structuredContent).toEqual({ messages });
  });

  it("compares the headers with the body, also in Base64", async () => {
    const router = routerOf();
    const encoded = `=?base64?${Buffer.from(GREET).toString("base64")}?=`;
    expect((await callTool(router, GREET, {}, { "mcp-name": encoded })).status).toBe(200);
    for (const headers of [
      { "mcp-name": GREET_EACH },
      { "mcp-name": "=?base64?%?=" },
      { "mcp-name": undefined },
      { "mcp-method": "tools/list" },
      { "mcp-protocol-version": undefined },
      { "mcp-protocol-version": "2030-01-01" },
    ]) {
      const { status, body } = await callTool(router, GREET, {}, headers);
      expect([status, body.id, body.error.code], JSON.stringify(headers)).toEqual([400, 1, -32020]);
    }
  });

  it("refuses methods of older revisions and unknown ones with status 404", async () => {
    for (const method of ["initialize", "ping", "logging/setLevel", "constructor"]) {
      const { status, body } = await send(routerOf(), method);
      expect([status, body.error.code], method).toEqual([404, -32601]);
    }
  });

  it("requires its members of _meta", async () => {
    const message = { jsonrpc: "2.0", id: 7, method: "tools/list", params: {} };
    const { status, body } = await post(routerOf(), message, {
      "mcp-protocol-version": MODERN,
      "mcp-method": "tools/list",
    });
    expect([status, body.id, body.error.code]).toEqual([400, 7, -32602]);
  });
});

describe("older revisions", () => {
  const request = (method: string, params: object = {}) => ({ jsonrpc: "2.0", id: "a", method, params });

  it("begin with initialize, and have results without the members of later ones", async () => {
    const router = routerOf();
    const answer = async (method: string, params?: object) => (await post(router, request(method, params))).body.result;
    expect(await answer("initialize", { protocolVersion: "2025-06-18", capabilities: {} })).toEqual({
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "greet.v1.GreetService", version: "1.0.0" },
    });
    expect((await answer("initialize", { protocolVersion: "1999-01-01" })).protocolVersion).toBe("2025-11-25");
    expect(await answer("ping")).toEqual({});
    expect(Object.keys(await answer("tools/list"))).toEqual(["tools"]);
    expect(await answer("tools/call", { name: GREET, arguments: { name: "Ada" } })).toEqual({
      content: [{ type: "text", text: '{"greeting":"Hello, Ada!"}' }],
      structuredContent: { greeting: "Hello, Ada!" },
    });
  });

  it("send notifications, which have no answer", async () => {
    const { status, body } = await post(routerOf(), { jsonrpc: "2.0", method: "notifications/initialized" });
    expect([status, body]).toEqual([202, ""]);
  });

  it("refuse an unknown revision with the supported ones", async () => {
    const { status, body } = await post(routerOf(), request("ping"), { "mcp-protocol-version": "2030-01-01" });
    expect([status, body.error.code, body.error.data.requested]).toEqual([400, -32022, "2030-01-01"]);
  });
});

describe("hostile requests", () => {
  it.each([
    ["no JSON", "{", 400, -32700],
    ["JSON that is nested too deeply", "[".repeat(50_000), 400, -32700],
    ["bytes that are no UTF-8", "\ud800{", 400, -32700],
    ["a batch", "[]", 400, -32600],
    ["null", "null", 400, -32600],
    ["another version of JSON-RPC", { jsonrpc: "1.0", id: 1, method: "ping" }, 400, -32600],
    ["a response", { jsonrpc: "2.0", id: 1, result: {} }, 400, -32600],
    ["an id of null", { jsonrpc: "2.0", id: null, method: "ping" }, 400, -32600],
    ["a fraction as id", { jsonrpc: "2.0", id: 1.5, method: "ping" }, 400, -32600],
    ["an id that would be rounded", '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}', 400, -32600],
    ["an object as id", { jsonrpc: "2.0", id: {}, method: "ping" }, 400, -32600],
    ["params in an array", { jsonrpc: "2.0", id: 1, method: "ping", params: [] }, 400, -32600],
    ["an unknown tool", { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "constructor" } }, 200, -32602],
    [
      "a tool whose name is an object",
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: { toString: 1 } } },
      200,
      -32602,
    ],
    ["a tool without a name", { jsonrpc: "2.0", id: 1, method: "tools/call" }, 200, -32602],
    [
      "arguments in an array",
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: GREET, arguments: [{}] } },
      200,
      -32602,
    ],
    ["a cursor", { jsonrpc: "2.0", id: 1, method: "tools/list", params: { cursor: "" } }, 200, -32602],
  ])("are refused: %s", async (_, body, status, code) => {
    const response = await post(routerOf(), body);
    expect([response.status, response.body.error.code]).toEqual([status, code]);
  });

  it("are refused for their size, their number of values, their type and their HTTP method", async () => {
    const router = routerOf({}, { maxMessageBytes: 200, maxMessageValues: 5 });
    expect((await post(router, " ".repeat(201))).status).toBe(413);
    expect((await post(router, "[[],[],[],[],[],[],[]]")).status).toBe(413);
    expect((await post(router, "{}", { "content-type": "text/plain" })).status).toBe(415);
    expect((await post(router, "{}", { "content-encoding": "gzip" })).status).toBe(415);
    for (const method of ["GET", "DELETE"]) {
      const response = await router.exchange(rpcRequest({ method, path: "/mcp", body: "" }));
      expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
    }
  });

  it("are refused from pages whose origin cors does not allow, that of the server included", async () => {
    const origin = "http://localhost:3000";
    const options = { cors: { origins: ["https://app.example.com"] } };
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    expect((await post(routerOf(), ping, { origin, host: "localhost:3000" })).status).toBe(403);
    expect((await post(routerOf({}, options), ping, { origin })).status).toBe(403);
    expect((await post(routerOf({}, options), ping, { origin: "https://app.example.com" })).status).toBe(200);
  });
});

describe("a tool call", () => {
  it("reports arguments that do not fit the schema as an error of the tool", async () => {
    const { status, body } = await callTool(routerOf(), GREET, { name: 1 });
    expect(status).toBe(200);
    expect(body.result.isError).toBe(true);
    expect(JSON.parse(body.result.content[0].text)).toEqual({
      code: "invalid_argument",
      message: expect.stringContaining("greet.v1.GreetRequest"),
    });
  });

  it("reports the error of a handler with code and message, also in the middle of a stream", async () => {
    const fail = (): never => {
      throw new RpcError(Code.NotFound, "the user was not found");
    };
    const router = routerOf({
      greet: fail,
      async *greetEach() {
        yield { greeting: "Hello" };
        fail();
      },
    });
    const error = { content: [{ type: "text", text: '{"code":"not_found","message":"the user was not found"}' }] };
    expect((await callTool(router, GREET, {})).body.result).toMatchObject({ ...error, isError: true });
    expect((await callTool(router, GREET_EACH, {})).body.result).toMatchObject({ ...error, isError: true });
  });

  it("hides errors that are not for the client, and reports them once", async () => {
    const errors: unknown[] = [];
    const handler = { greet: () => Promise.reject(new Error("secret")) };
    const { body } = await callTool(routerOf(handler, { onError: (error) => errors.push(error) }), GREET, {});
    expect(JSON.stringify(body)).not.toContain("secret");
    expect(errors).toEqual([new Error("secret")]);
  });

  it("passes interceptors with the headers of the request, and answers 401 with a challenge", async () => {
    const seen: unknown[] = [];
    const authenticate: Interceptor = (next) => (request) => {
      const { headers, method } = request;
      seen.push([method.path, headers.get("x-tenant"), headers.get("content-type")]);
      if (headers.has("authorization")) return next(request);
      throw new RpcError(Code.Unauthenticated, "sign in", { trailers: { "www-authenticate": 'Bearer scope="greet"' } });
    };
    const router = routerOf({}, { interceptors: [authenticate] });
    const refused = await callTool(router, GREET, {}, { "x-tenant": "a" });
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, 'Bearer scope="greet"']);
    const accepted = await callTool(router, GREET, {}, { authorization: "Bearer t" });
    expect(accepted.body.result.structuredContent).toEqual({ greeting: "Hello, !" });
    expect(seen[0]).toEqual(["/greet.v1.GreetService/Greet", "a", "application/json"]);
  });

  it("has the deadline of the request, also for a stream without an end", async () => {
    const latest = performance.now() + 10_000;
    const router = routerOf({
      *greetEach() {
        while (performance.now() < latest) yield {};
      },
    });
    const { body } = await callTool(router, GREET_EACH, {}, { "tri-service-timeout": "100" });
    expect(JSON.parse(body.result.content[0].text).code).toBe("deadline_exceeded");
  });

  it("has the deadline of the request", async () => {
    const router = routerOf({ greet: () => new Promise(() => {}) });
    const { body } = await callTool(router, GREET, {}, { "tri-service-timeout": "20" });
    expect(JSON.parse(body.result.content[0].text).code).toBe("deadline_exceeded");
  });

  it("ends a stream whose messages exceed the limit, and the handler's loop", async () => {
    let isOver = false;
    const router = routerOf(
      {
        async *greetEach() {
          try {
            for (;;) yield { greeting: "x".repeat(100) };
          } finally {
            isOver = true;
          }
        },
      },
      { maxMessageBytes: 1_000 },
    );
    const { body } = await callTool(router, GREET_EACH, {});
    expect(JSON.parse(body.result.content[0].text).code).toBe("resource_exhausted");
    expect(isOver).toBe(true);
  });
});

describe("addMcp", () => {
  const anything = new Proxy({}, { get: () => () => ({}), has: () => true }) as never;

  it("describes the effect of methods, and serves versions of a service", async () => {
    const router = createRouter().add(IdempotencyServiceDef, anything, { version: "2.0" });
    const methods = Object.values(IdempotencyServiceDef.methods);
    addMcp(
      router,
      methods.filter(({ kind }) => kind === "unary").map(({ service, name }) => `${service}.${name}`),
      { path: "/tools" },
    );
    const response = await router.exchange(
      rpcRequest({ path: "/tools", body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }) }),
    );
    const { result } = JSON.parse(await textOf(response));
    const hints = result.tools.map(({ annotations }: { annotations?: object }) => annotations);
    expect(hints).toContainEqual({ readOnlyHint: true, idempotentHint: true });
    expect(hints).toContainEqual({ readOnlyHint: false, idempotentHint: true });
    expect(hints).toContainEqual(undefined);
  });

  it("takes the comments of the documents of addOpenApi", async () => {
    const documents = [
      {
        paths: {
          "/greet.v1.GreetService/Greet": { post: { summary: "Greets a person", description: "Greets a person." } },
        },
        components: { schemas: {} },
      },
    ];
    const router = createRouter().add(GreetServiceDef, greeter);
    addOpenApi(router, { documents });
    addMcp(router, [GREET]);
    const { body } = await send(router, "tools/list");
    expect(body.result.tools[0]).toMatchObject({ title: "Greets a person", description: "Greets a person." });
  });

  it("serves methods of a contract, which its OpenAPI document describes", async () => {
    const router = createRouter().add(ShopDef, shop);
    const search = ["shop.v1.Shop.search"];
    expect(() => addMcp(router, search)).toThrow(
      "/shop.v1.Shop/search has no object as request, or no OpenAPI document",
    );
    addOpenApi(router, { documents: [contract] });
    addMcp(router, search);
    const { body } = await send(router, "tools/list");
    expect(body.result.tools[0].inputSchema).toEqual({
      type: "object",
      properties: { text: { type: "string" }, page: { type: "number" } },
      required: ["text"],
    });
    const found = await callTool(router, "shop.v1.Shop.search", { text: "lamp" });
    expect(found.body.result.structuredContent).toEqual({ items: [{ thing: "lamp", count: 1 }] });
    const failed = await callTool(router, "shop.v1.Shop.search", {});
    expect(JSON.parse(failed.body.result.content[0].text).message).toBe("query.text is missing");
    expect(() => addMcp(router, ["shop.v1.Shop.stock"], { path: "/stock" })).toThrow("has no object as request");
  });

  it.each([
    [["greet.v1.GreetService.Grete"], {}, 'did you mean "greet.v1.GreetService.Greet"?'],
    [["greet.v1.GreetService/Greet"], {}, 'did you mean "greet.v1.GreetService.Greet"?'],
    [["greet.v1.Other.Method"], {}, "no service of the router has the method"],
    [["greet.v1.GreetService.GreetTogether"], {}, "is client streaming"],
    [GREET, {}, "the methods of addMcp must be an array, not a string"],
    [[GREET], { path: "mcp" }, "must start with /"],
    [[GREET], { path: "/mcp?tools" }, "without a query"],
    [[GREET], { path: "/mcp#tools" }, "without a query"],
    [[GREET], { path: "/tööls" }, "must start with / and be visible ASCII"],
    [[GREET], { paths: "/mcp" }, "paths"],
  ])("refuses %j with the options %j", (methods, options, message) => {
    const router = createRouter().add(GreetServiceDef, greeter);
    expect(() => addMcp(router, methods as string[], options as object)).toThrow(message);
  });

  it("takes a second list of tools at another path only", () => {
    const router = createRouter().add(GreetServiceDef, greeter);
    addMcp(router, [GREET]);
    addMcp(router, [GREET], { path: "/tools" });
    expect(() => addMcp(router, [GREET])).toThrow("the router has a resource that answers /mcp already");
  });
});
