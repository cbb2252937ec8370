/** The option `authorize`: calls are refused by the heads of their requests, before a byte of their bodies is read. */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { type Authorize, Code, createContextKey, createInMemoryTransport, createRouter, RpcError } from "triple-es";
import { fetchHandler } from "triple-es/fetch";
import { addHealth } from "triple-es/health";
import { nodeHandler } from "triple-es/node";
import { addRest } from "triple-es/rest";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createGreetServiceClient, GreetServiceDef } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { Http1Connection, Http2Connection } from "../../support/connection.ts";
import { connectGreeter, failureOf, greeter, signalled, startServer } from "../../support/server.ts";

const GREET = "/greet.v1.GreetService/Greet";
const TOGETHER = "/greet.v1.GreetService/GreetTogether";
const LENGTH = 15_000_000;
const TOKEN = { authorization: "Bearer right" };
const user = createContextKey("anonymous");

const checkToken: Authorize = ({ headers, context }) => {
  if (headers.get("authorization") !== TOKEN.authorization) throw new RpcError(Code.Unauthenticated, "no valid token");
  context.values.set(user, "Ada");
};

const HOOKS: readonly (readonly [string, Authorize])[] = [
  ["a synchronous hook", checkToken],
  ["an asynchronous hook", async (call) => checkToken(call)],
];

/** Requests whose bodies are announced with {@link LENGTH} bytes, of which none is sent. */
const PROTOCOLS = [
  { name: "HTTP RPC", path: GREET, type: "application/json", versions: ["1.1", "2"], status: 401 },
  { name: "REST", path: "/v1/greet", type: "application/json", versions: ["1.1", "2"], status: 401 },
  { name: "gRPC, unary", path: GREET, type: "application/grpc", versions: ["2"], status: 200 },
  { name: "gRPC, a stream", path: TOGETHER, type: "application/grpc", versions: ["2"], status: 200 },
  { name: "gRPC-Web", path: GREET, type: "application/grpc-web", versions: ["1.1", "2"], status: 200 },
  { name: "gRPC-Web, text", path: GREET, type: "application/grpc-web-text", versions: ["1.1", "2"], status: 200 },
] as const;

const CASES = PROTOCOLS.flatMap(({ versions, ...protocol }) =>
  versions.flatMap((version) => HOOKS.map(([hook, authorize]) => ({ ...protocol, version, hook, authorize }))),
);

async function start(authorize: Authorize) {
  const greetTogether = vi.fn(greeter.greetTogether);
  const running = await startServer({ greetTogether }, { authorize });
  addRest(running.server, { rules: [{ selector: "greet.v1.GreetService.Greet", post: "/v1/greet", body: "*" }] });
  return { ...running, greetTogether };
}

/** Sends the head of a request over HTTP/1.1 and returns the response, whose body and trailers are text. */
async function refusedOverHttp1(port: number, path: string, headers: Record<string, string>) {
  const connection = await Http1Connection.open(port);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  connection.write(`POST ${path} HTTP/1.1\r\nhost: a\r\n${lines.join("")}\r\n`);
  const { status, body } = await connection.answer();
  return { status, text: body.toString() };
}

/** Does the same over HTTP/2, and then makes a call with a token on the same connection. */
async function refusedOverHttp2(baseUrl: string, path: string, headers: Record<string, string>) {
  const connection = new Http2Connection(baseUrl);
  const stream = connection.session.request({ ":method": "POST", ":path": path, ...headers });
  const continued = vi.fn();
  stream.on("continue", continued);
  const [head] = await once(stream, "response");
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  await once(stream, "close");
  expect(stream.rstCode).toBe(0);
  expect(continued).not.toHaveBeenCalled();
  const greeted = await connection.post(GREET, { "content-type": "application/json", ...TOKEN }, '[{"name":"Ada"}]');
  expect(greeted.body.toString()).toBe('{"greeting":"Hello, Ada!"}');
  const text = Buffer.concat(chunks).toString();
  return { status: Number(head[":status"]), text: text === "" ? `grpc-status:${head["grpc-status"]}` : text };
}

describe.each(CASES)("$name over HTTP/$version with $hook", ({ path, type, version, status, authorize }) => {
  it("is refused before a byte of its body is sent", async () => {
    const { port, baseUrl, greetTogether } = await start(authorize);
    const headers = { "content-type": type, te: "trailers", "content-length": String(LENGTH) };
    const answer = await (version === "1.1"
      ? refusedOverHttp1(port, path, headers)
      : refusedOverHttp2(baseUrl, path, headers));
    expect(answer.status).toBe(status);
    const text = type.endsWith("text") ? Buffer.from(answer.text, "base64").toString() : answer.text;
    if (status === 200) expect(text).toMatch(/grpc-status: ?16/);
    else expect(JSON.parse(text)).toMatchObject({ status: 70, message: "no valid token" });
    expect(greetTogether).not.toHaveBeenCalled();
  });
});

describe("an upload that is refused", () => {
  it("stops after the flow-control window of its stream over HTTP/2", async () => {
    const { baseUrl } = await start(checkToken);
    const { session } = new Http2Connection(baseUrl);
    await once(session, "remoteSettings");
    const stream = session.request({ ":method": "POST", ":path": GREET, "content-type": "application/grpc" });
    stream.on("error", () => {});
    const chunks = Array.from({ length: 240 }, () => Buffer.alloc(64 * 1024));
    Readable.from(chunks).pipe(stream).resume();
    const [head] = await once(stream, "response");
    expect(head["grpc-status"]).toBe("16");
    await once(stream, "close");
    expect(session.socket.bytesWritten).toBeLessThan(512 * 1024);
  });

  it.each(["1.1", "2"])("is not asked for with 100 (Continue) over HTTP/%s", async (version) => {
    const { port, baseUrl } = await start(checkToken);
    const headers = { "content-type": "application/json", "content-length": "16", expect: "100-continue" };
    const refused = await (version === "1.1"
      ? refusedOverHttp1(port, GREET, headers)
      : refusedOverHttp2(baseUrl, GREET, headers));
    expect(refused.status).toBe(401);
  });
});

describe("the option authorize", () => {
  const call = async (authorize: Authorize | undefined, own: Authorize | undefined, headers = {}) => {
    const onError = vi.fn();
    const router = createRouter({ onError, ...(authorize && { authorize }) });
    router.add(
      GreetServiceDef,
      { ...greeter, greet: (_request, { values }) => ({ greeting: values.get(user) }) },
      { authorize: own },
    );
    const client = createGreetServiceClient(createInMemoryTransport(router));
    return { onError, call: client.greet({}, { headers }) };
  };

  it("passes values to the handler", async () => {
    expect((await (await call(checkToken, undefined, TOKEN)).call).greeting).toBe("Ada");
    expect((await (await call(undefined, checkToken, TOKEN)).call).greeting).toBe("Ada");
  });

  it("runs the hook of the service after that of the router", async () => {
    const order: string[] = [];
    const hook =
      (name: string): Authorize =>
      async ({ method, selector }) => {
        order.push(`${name} ${method.path} ${selector.version}`);
      };
    await (await call(hook("router"), hook("service"))).call;
    expect(order).toEqual([`router ${GREET} undefined`, `service ${GREET} undefined`]);
  });

  it("hides errors of the hook that are not an RpcError", async () => {
    const { onError, call: failing } = await call(() => {
      throw new Error("secret");
    }, undefined);
    const error = await failureOf(failing);
    expect([error.code, error.message.includes("secret")]).toEqual([Code.Unknown, false]);
    expect(onError).toHaveBeenCalledTimes(1);
  });

  it.each([false, Promise.resolve(false)])("refuses the call if the hook returns a value", async (value) => {
    const { onError, call: failing } = await call((() => value) as unknown as Authorize, undefined);
    expect((await failureOf(failing)).code).toBe(Code.Unknown);
    expect(String(onError.mock.calls[0]?.[0])).toContain("authorize must throw an RpcError to refuse a call");
  });

  it("must be a function", () => {
    const wrong = { authorize: "yes" } as unknown as { authorize: Authorize };
    expect(() => createRouter(wrong)).toThrow('authorize must be a function, not "yes"');
    expect(() => createRouter().add(GreetServiceDef, greeter, wrong)).toThrow("authorize must be a function");
  });

  it("applies to calls through nodeHandler and fetchHandler, and to health", async () => {
    const router = createRouter({ authorize: checkToken }).add(GreetServiceDef, greeter);
    addHealth(router);
    const json = { method: "POST", headers: { "content-type": "application/json" }, body: "[{}]" };
    for (const path of [GREET, "/grpc.health.v1.Health/Check"]) {
      expect((await fetchHandler(router)(new Request(`http://a${path}`, json))).status).toBe(401);
    }
    const server = createHttpServer(nodeHandler(router)).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    expect((await refusedOverHttp1(port, GREET, { ...json.headers, "content-length": "99" })).status).toBe(401);
  });
});

describe("a call that ends while the hook decides", () => {
  it.each([
    { protocol: "grpc", kind: "unary" },
    { protocol: "grpc", kind: "stream" },
    { protocol: "http-rpc", kind: "unary" },
  ] as const)("does not reach the handler over $protocol, $kind", async ({ protocol, kind }) => {
    const asked = signalled();
    const decision = signalled();
    const greet = vi.fn(greeter.greet);
    const greetTogether = vi.fn(greeter.greetTogether);
    const { baseUrl, server } = await startServer(
      { greet, greetTogether },
      {
        authorize: ({ context }) => {
          context.signal?.addEventListener("abort", () => decision.resolve());
          asked.resolve();
          return decision.promise;
        },
      },
    );
    const client = connectGreeter(baseUrl, { protocol });
    const cancel = new AbortController();
    const options = { signal: cancel.signal };
    const call = kind === "unary" ? client.greet({}, options) : client.greetTogether(Readable.from([{}]), options);
    const failed = failureOf(call);
    await asked.promise;
    cancel.abort();
    expect((await failed).code).toBe(Code.Canceled);
    await decision.promise;
    await server.close();
    expect(greet).not.toHaveBeenCalled();
    expect(greetTogether).not.toHaveBeenCalled();
  });
});

it.each([GREET, TOGETHER])("a call to %s that has expired when it arrives is not decided about", async (path) => {
  const authorize = vi.fn(() => Promise.reject(new RpcError(Code.Unauthenticated, "no token")));
  const { baseUrl } = await startServer({}, { authorize });
  const connection = new Http2Connection(baseUrl);
  onTestFinished(() => connection.session.destroy());
  const stream = connection.session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    "grpc-timeout": "0m",
  });
  const [headers] = await once(stream, "response");
  expect(headers["grpc-status"]).toBe("4");
  expect(authorize).not.toHaveBeenCalled();
});
