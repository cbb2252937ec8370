/** The router: the handler of a request. */
import {
  createInMemoryTransport,
  createRouter,
  type Router,
  type RouterOptions,
  type Selector,
  type ServiceOptions,
} from "triple-es";
import { addHealth } from "triple-es/health";
import { addMcp } from "triple-es/mcp";
import { addOpenApi } from "triple-es/openapi";
import { describe, expect, it } from "vitest";
import { createGreetServiceClient, GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { Code, Status } from "../../runtime/src/call/code.ts";
import { WholeBody } from "../../runtime/src/http/body.ts";
import type { HttpResponse } from "../../runtime/src/http/exchange.ts";
import type { ServerProtocol } from "../../runtime/src/protocol/protocol.ts";
import { resolveRouterOptions } from "../../runtime/src/server/options.ts";
import { createRouterWith } from "../../runtime/src/server/router.ts";
import { GREET, grpcRequest, jsonOf, response, rpcRequest } from "../support/greeter.ts";
import { failureOf, greeter } from "../support/server.ts";

type Protocol = "grpc" | "http-rpc";

const greeting = (text: string) => ({ ...greeter, greet: () => ({ greeting: text }) });

function ask(router: Router, protocol: Protocol, selector: Selector): Promise<string> {
  const client = createGreetServiceClient(createInMemoryTransport(router, { protocol }), selector);
  return client.greet({}).then(({ greeting }) => greeting);
}

describe.each<Protocol>(["grpc", "http-rpc"])("version and group (%s)", (protocol) => {
  const router = createRouter()
    .add(GreetServiceDef, greeting("plain"))
    .add(GreetServiceDef, greeting("v1"), { version: "1.0.0" })
    .add(GreetServiceDef, greeting("v2"), { version: "2.0.0" })
    .add(GreetServiceDef, greeting("group"), { group: "g" })
    .add(GreetServiceDef, greeting("v1 group"), { version: "1.0.0", group: "g" });

  it.each<[Selector, string]>([
    [{}, "plain"],
    [{ version: "", group: "" }, "plain"],
    [{ version: "1.0.0" }, "v1"],
    [{ version: "2.0.0" }, "v2"],
    [{ group: "g" }, "group"],
    [{ version: "1.0.0", group: "g" }, "v1 group"],
  ])("%j finds %s", async (selector, expected) => {
    if (selector.version === "") {
      // Clients of triple-es cannot send empty headers, but other peers can.
      const headers = { "tri-service-version": "", "tri-service-group": "" };
      expect(await jsonOf(await router.exchange(rpcRequest({ headers })))).toEqual({ greeting: expected });
    } else expect(await ask(router, protocol, selector)).toBe(expected);
  });

  it.each<Selector>([
    { version: "3.0.0" },
    { version: "1" },
    { group: "G" },
    { version: "2.0.0", group: "g" },
    { version: "1.0.0", group: "h" },
  ])("%j finds nothing, and receives no list of services", async (selector) => {
    const error = await failureOf(ask(router, protocol, selector));
    expect([error.code, error.status]).toEqual([
      Code.Unimplemented,
      protocol === "grpc" ? undefined : Status.ServiceNotFound,
    ]);
    expect(error.message).not.toMatch(/[12]\.0\.0/);
  });

  it("are those of the definition unless the options override them", async () => {
    const service = { ...GreetServiceDef, selector: { version: "1", group: "g" } };
    const defined = createRouter()
      .add(service, greeting("defined"), { version: undefined })
      .add(service, greeting("other"), { version: "2" });
    expect(await ask(defined, protocol, { version: "1", group: "g" })).toBe("defined");
    expect(await ask(defined, protocol, { version: "2", group: "g" })).toBe("other");
  });
});

describe("resources", () => {
  it.each<[string, (router: Router) => unknown]>([
    ["documents at one path", (router) => addOpenApi(router)],
    ["documents at the path of another resource", (router) => addOpenApi(router, { path: "/healthz" })],
    ["tools at one path", (router) => addMcp(router, [], { path: "/openapi.json" })],
  ])("are refused if they could not be reached: %s", (_, add) => {
    const router = createRouter();
    addOpenApi(router);
    addHealth(router, { probes: true });
    expect(() => add(router)).toThrow(/^the router has a resource that answers \/[a-z.]+ already: set another path$/);
    expect(router.resources).toHaveLength(2);
  });
});

it("the response of a resource to HEAD has no body, and the length of that to GET", async () => {
  const exchange = async () => ({ ...response(), body: new WholeBody(Buffer.from("four")) });
  const router = createRouter().mount({ serves: () => true, exchange });
  const { headers, body } = await router.exchange(rpcRequest({ method: "HEAD" }));
  expect([headers.get("content-length"), await body.bytes(10)]).toEqual(["4", new Uint8Array()]);
});

describe("a request whose headers occurred before", () => {
  const repeated = (router: Router, memo: { result: unknown }) => router.exchange({ ...rpcRequest({}), memo });

  it("finds a service that was added in between", async () => {
    const router = createRouter();
    const memo = { result: undefined };
    expect((await repeated(router, memo)).status).toBe(404);
    router.add(GreetServiceDef, greeting("added"));
    for (let i = 0; i < 2; i++) expect(await jsonOf(await repeated(router, memo))).toEqual({ greeting: "added" });
  });

  it("finds a resource that was mounted in between", async () => {
    const router = createRouter();
    const memo = { result: undefined };
    expect((await repeated(router, memo)).status).toBe(404);
    router.mount({ serves: () => true, exchange: async () => response({ status: 299 }) });
    expect((await repeated(router, memo)).status).toBe(299);
  });

  it("rejects if a resource throws", async () => {
    const exchange = (): never => {
      throw new Error("no answer");
    };
    await expect(
      createRouter()
        .mount({ serves: () => true, exchange })
        .exchange(rpcRequest({})),
    ).rejects.toThrow("no answer");
  });

  it("over HTTP RPC has the formats of its headers, and its own body", async () => {
    const router = createRouter().add(GreetServiceDef, greeter);
    const memo = { result: undefined };
    const headers = { accept: "application/xml" };
    for (const name of ["Ada", "Bob"]) {
      const { body } = await router.exchange({ ...rpcRequest({ headers, body: `{"name":"${name}"}` }), memo });
      expect(Buffer.from(await body.bytes(1_000)).toString()).toContain(`<greeting>Hello, ${name}!</greeting>`);
    }
  });

  it("over HTTP RPC is refused again", async () => {
    const router = createRouter().add(GreetServiceDef, greeter);
    const memo = { result: undefined };
    for (let i = 0; i < 2; i++) {
      const request = rpcRequest({ headers: { "content-encoding": "other" } });
      expect((await router.exchange({ ...request, memo })).status).toBe(415);
    }
  });

  it("is not answered by another router", async () => {
    const memo = { result: undefined };
    for (const text of ["one", "two"]) {
      const router = createRouter().add(GreetServiceDef, greeting(text));
      expect(await jsonOf(await repeated(router, memo))).toEqual({ greeting: text });
    }
  });
});

describe("adding a service twice", () => {
  it.each<[ServiceOptions, ServiceOptions]>([
    [{}, {}],
    [{}, { version: "" }],
    [{ version: "1" }, { version: "1" }],
    [
      { version: "1", group: "g" },
      { version: "1", group: "g" },
    ],
  ])("under %j and %j throws, and the first one stays", async (first, second) => {
    const router = createRouter().add(GreetServiceDef, greeting("first"), first);
    expect(() => router.add(GreetServiceDef, greeting("second"), second)).toThrow(`${GREET} has been added already`);
    expect(await ask(router, "grpc", first)).toBe("first");
  });
});

describe("the path", () => {
  const router = createRouter().add(GreetServiceDef, greeter);

  it("ends at the query", async () => {
    expect((await router.exchange(rpcRequest({ path: `${GREET}?a=/b?c` }))).status).toBe(200);
    const answer = await router.exchange(grpcRequest({ path: `${GREET}?` }));
    expect(answer.trailers.get("grpc-status")).toBe("0");
  });

  it("is taken literally", async () => {
    for (const path of ["/greet.v1.GreetService/%47reet", `/.${GREET}`, `${GREET}#x`, `/x/..${GREET}`]) {
      expect((await router.exchange(rpcRequest({ path }))).status).toBe(404);
    }
  });
});

describe("the protocol", () => {
  const answering = (name: string, accepts: (contentType: string) => boolean): ServerProtocol => ({
    accept: (type) =>
      accepts(type)
        ? async (_request, destination): Promise<HttpResponse> =>
            response({ headers: { by: name, found: String(destination.handler !== undefined) } })
        : undefined,
  });
  const settings = { ...resolveRouterOptions({ codecs: [], compressions: [] }), bodyKinds: [] };
  const ask = async (router: Router, contentType: string | undefined, path = GREET): Promise<unknown> => {
    const { headers } = await router.exchange(rpcRequest({ path, headers: { "content-type": contentType } }));
    return [headers.get("by"), headers.get("found")];
  };

  it("is the first that accepts the content type, or the last", async () => {
    const protocols = [
      answering("one", (type) => type === "a/1"),
      answering("two", (type) => type.startsWith("a/")),
      answering("last", () => true),
    ];
    const router = createRouterWith({ ...settings, protocols }).add(GreetServiceDef, greeter);
    expect(await ask(router, "a/1")).toEqual(["one", "true"]);
    expect(await ask(router, "a/2")).toEqual(["two", "true"]);
    expect(await ask(router, "b/1")).toEqual(["last", "true"]);
    expect(await ask(router, undefined)).toEqual(["last", "true"]);
  });

  it("answers for paths without a handler itself", async () => {
    const router = createRouterWith({ ...settings, protocols: [answering("one", () => true)] });
    expect(await ask(router, "a/1", "/nothing")).toEqual(["one", "false"]);
  });
});

it.each<[string, RouterOptions]>([
  ["0", { maxMessageBytes: 0 }],
  ["-1", { maxMessageBytes: -1 }],
  ["NaN", { maxMessageBytes: Number.NaN }],
  ["Infinity", { maxMessageBytes: Number.POSITIVE_INFINITY }],
])("a router does not accept %s as its largest message", (_what, options) => {
  expect(() => createRouter(options)).toThrow(RangeError);
});

it.each<[string, RouterOptions]>([
  ["a limit of 0", { bodyLimits: { parts: 0 } }],
  ["half a limit", { bodyLimits: { formValues: 1.5 } }],
  ["a limit that is no number", { bodyLimits: { elements: Number.NaN } }],
  ["a limit of another name", { bodyLimits: { files: 1 } as object }],
  ["null", { bodyLimits: null as unknown as object }],
])("a router refuses %s for bodies", (_what, options) => {
  expect(() => createRouter(options)).toThrow(/^bodyLimits/);
});

it.each<[string, object]>([
  ['requireTe must be in [true,false], not "false"', { requireTe: "false" }],
  ["requireProtocolVersion must be in [true,false], not 1", { requireProtocolVersion: 1 }],
  ["compressMinBytes must be 0 or more, not -1", { compressMinBytes: -1 }],
  ["compressMinBytes must be 0 or more, not NaN", { compressMinBytes: Number.NaN }],
])("a router says that %s", (message, options) => {
  expect(() => createRouter(options)).toThrow(message);
});

describe("with versionMatch fallback", () => {
  const fallback = (...added: [string, Selector][]) => {
    const router = createRouter({ versionMatch: "fallback" });
    for (const [text, selector] of added) router.add(GreetServiceDef, greeting(text), selector);
    return router;
  };

  it("the same version and group still win", async () => {
    const router = fallback(["plain", {}], ["v1", { version: "1.0.0" }], ["v2", { version: "2.0.0" }]);
    expect(await ask(router, "grpc", { version: "2.0.0" })).toBe("v2");
  });

  it("version 1.0.0 of the same group is second", async () => {
    const router = fallback(["plain", {}], ["v1", { version: "1.0.0" }], ["g v1", { version: "1.0.0", group: "g" }]);
    expect(await ask(router, "grpc", { version: "3.0.0", group: "g" })).toBe("g v1");
    expect(await ask(router, "http-rpc", { version: "3.0.0" })).toBe("v1");
  });

  it("the service without version and group is last", async () => {
    expect(await ask(fallback(["plain", {}]), "grpc", { version: "3.0.0", group: "h" })).toBe("plain");
  });

  it("a service of another group is never taken", async () => {
    const router = fallback(["g", { group: "g" }], ["v2", { version: "2.0.0" }]);
    expect((await failureOf(ask(router, "grpc", { version: "3.0.0", group: "h" }))).code).toBe(Code.Unimplemented);
  });
});
