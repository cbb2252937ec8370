/** Calls of a contract in TypeScript: all kinds of methods over all ways, and validation at both ends. */
import { type ClosableTransport, Code, createInMemoryTransport, createRouter, findDetails, RpcError } from "triple-es";
import { createTransport as createFetchTransport, fetchHandler } from "triple-es/fetch";
import { createTransport as createJsonTransport, findDetails as findJsonDetails } from "triple-es/json";
import { createServer, createTransport, type NodeTransportOptions, type Server } from "triple-es/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createShopClient, type ShopClient, ShopDef } from "../../../fixtures/contract/gen/shop_triple.ts";
import type { Order } from "../../../fixtures/contract/shop.ts";
import { BadRequestSchema } from "../../../runtime/src/gen/google/rpc/error_details_pb.ts";
import { everything, receipt, shop } from "./shop.ts";

const errors: unknown[] = [];
const router = createRouter({ onError: (error) => errors.push(error) }).add(ShopDef, shop);
let server: Server;
const transports: ClosableTransport[] = [];
let url: string;

beforeAll(async () => {
  server = createServer({ onError: (error) => errors.push(error) }).add(ShopDef, shop);
  await server.listen({ port: 0 });
  url = `http://localhost:${server.address.port}`;
});
afterAll(async () => {
  await Promise.all(transports.map((transport) => transport.close()));
  await server.close();
});

function node(options: Omit<NodeTransportOptions, "baseUrl">): ShopClient {
  const transport = createTransport({ baseUrl: url, ...options });
  transports.push(transport);
  return createShopClient(transport);
}

async function all<T>(messages: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const message of messages) found.push(message);
  return found;
}

async function* each<T>(...values: T[]): AsyncGenerator<T> {
  yield* values;
}

const handle = fetchHandler(router);
const WAYS: Readonly<Record<string, () => ShopClient>> = {
  "HTTP RPC over HTTP/1.1": () => node({ protocol: "http-rpc", httpVersion: "1.1" }),
  "HTTP RPC over HTTP/2": () => node({ protocol: "http-rpc" }),
  "HTTP RPC with bare objects": () => node({ protocol: "http-rpc", jsonBody: "object" }),
  gRPC: () => node({}),
  "gRPC beside a codec of JSON": () => node({ codec: "json" }),
  "gRPC in memory": () => createShopClient(createInMemoryTransport(router)),
  "HTTP RPC in memory": () => createShopClient(createInMemoryTransport(router, { protocol: "http-rpc" })),
  fetch: () => createShopClient(createFetchTransport({ baseUrl: url })),
  "gRPC-Web": () => createShopClient(createFetchTransport({ baseUrl: url, protocol: "grpc-web" })),
  "fetch without protobuf": () => createShopClient(createJsonTransport({ baseUrl: url })),
  "a handler of fetch": () =>
    createShopClient(
      createJsonTransport({ baseUrl: "http://test", fetch: async (input, init) => handle(new Request(input, init)) }),
    ),
};
const ways = Object.entries(WAYS);
const withAllStreams = ways.filter(([name]) => /^gRPC(?!-)/.test(name));

describe.each(ways)("unary over %s", (_, create) => {
  it("keeps each value", async () => {
    const client = create();
    expect(await client.echo(everything)).toEqual(everything);
    expect(await client.order(receipt.order)).toEqual({ ...receipt, id: 1n });
    expect(await client.stock("lamp")).toBe(7);
    expect(await client.stock("moon")).toBeNull();
    expect(await client.search({ text: "x" })).toEqual({ items: [{ thing: "x", count: 1 }] });
    expect(await client.now()).toEqual(new Date(1_000));
    expect(await client.ping()).toEqual({});
  });

  it("refuses a request that is invalid before it is sent", async () => {
    const items = [
      { thing: "a", count: 1 },
      { thing: "b", count: 0.5 },
    ];
    await expect(create().order({ ...receipt.order, items })).rejects.toMatchObject({
      code: Code.InvalidArgument,
      rawMessage: "order.items[1].count must be an integer",
    });
    await expect(create().area({ kind: "circle", radius: Number.NaN })).rejects.toThrow(
      "shape.radius must be a finite number",
    );
  });

  it("reports a result that is invalid to the server only", async () => {
    errors.length = 0;
    await expect(create().area({ kind: "box", size: [1, 2] })).rejects.toMatchObject({ code: Code.Internal });
    expect(errors.map(String)).toEqual(["TypeError: result must be a finite number"]);
  });
});

describe.each(ways)("server streaming over %s", (_, create) => {
  it("keeps each value, and the error", async () => {
    expect(await all(create().watch({ id: 5n }))).toEqual([receipt, { ...receipt, id: 5n }]);
    await expect(all(create().watch({ id: 0n }))).rejects.toMatchObject({ code: Code.NotFound });
  });
});

describe.each(withAllStreams)("streams of requests over %s", (_, create) => {
  it("keeps each value", async () => {
    const price = { cents: 5, currency: "EUR" } as const;
    expect(await create().total(each({ thing: "a", count: 2, price }, { thing: "b", count: 3, price }))).toEqual({
      cents: 25,
      currency: "EUR",
    });
    expect(await all(create().find(each("a", "")))).toEqual([{ thing: "a", count: 1 }, null]);
  });

  it("ends with the first invalid request", async () => {
    await expect(create().total(each({ thing: "", count: 1 }))).rejects.toMatchObject({
      code: Code.InvalidArgument,
      rawMessage: "items.thing must have at least 1 character",
    });
  });
});

it("refuses streams of requests in pages", async () => {
  const client = createShopClient(createJsonTransport({ baseUrl: url }));
  await expect(client.total(each({ thing: "a", count: 2 }))).rejects.toMatchObject({
    code: Code.Unimplemented,
    rawMessage:
      "/shop.v1.Shop/total is client streaming, which fetch cannot carry: use createWebSocketTransport or triple-es/node",
  });
});

describe("the validation of a server", () => {
  const post = (method: string, body: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${url}/shop.v1.Shop/${method}`, {
      method: "POST",
      body,
      headers: { "content-type": "application/json", ...headers },
    });

  it("names the path of each invalid value", async () => {
    const items = [{ thing: "a", count: 1 }, {}, { thing: "b", count: 0 }];
    const response = await post("order", JSON.stringify([{ items, customer: "x", due: "now", colour: "BLUE" }]));
    expect(response.status).toBe(400);
    const { message, code, details } = (await response.json()) as {
      message: string;
      code: string;
      details: { debug: unknown }[];
    };
    expect({ message, code }).toEqual({
      message:
        "order.items[1].thing is missing; order.items[1].count is missing; order.items[2].count must be at least 1; and 3 more",
      code: "invalid_argument",
    });
    expect(details[0]?.debug).toEqual({
      fieldViolations: [
        { field: "items[1].thing", description: "order.items[1].thing is missing" },
        { field: "items[1].count", description: "order.items[1].count is missing" },
        { field: "items[2].count", description: "order.items[2].count must be at least 1" },
        { field: "customer", description: "order.customer must be an email address" },
        { field: "due", description: "order.due must be a string with a date-time of RFC 3339" },
        { field: "colour", description: 'order.colour must be "RED" or "GREEN"' },
      ],
    });
  });

  /** A client that does not validate. */
  const careless = (): ShopClient => {
    const transport = createInMemoryTransport(router);
    return createShopClient({
      call: (request) => {
        const payload = request.method.payload as { grpcJson: object };
        const grpcJson = {
          ...payload.grpcJson,
          encodeRequest: (_: unknown, message: unknown) => new TextEncoder().encode(JSON.stringify(message)),
        };
        return transport.call({
          ...request,
          method: { ...request.method, payload: { ...payload, grpcJson } },
        } as never);
      },
    });
  };

  it("has the details of BadRequest over gRPC", async () => {
    const error = await careless()
      .order({ items: [] } as never as Order)
      .catch((reason) => reason);
    expect(error).toBeInstanceOf(RpcError);
    const [detail] = findDetails(error, BadRequestSchema);
    expect(detail?.fieldViolations.map(({ field, description }) => `${field}: ${description}`)).toEqual([
      "items: order.items must have at least 1 item",
      "customer: order.customer is missing",
      "due: order.due is missing",
      "colour: order.colour is missing",
    ]);
    const overFetch = await createShopClient(
      createJsonTransport({
        baseUrl: url,
        interceptors: [
          (next) => (request) =>
            next({
              ...request,
              method: {
                ...request.method,
                payload: {
                  ...(request.method.payload as object),
                  httpRpc: {
                    ...(request.method.payload as { httpRpc: object }).httpRpc,
                    encodeRequest: () => new TextEncoder().encode("[3]"),
                  },
                },
              },
            } as never),
        ],
      }),
    )
      .order(receipt.order)
      .catch((reason) => reason);
    expect(findJsonDetails(overFetch, "google.rpc.BadRequest")).toEqual([
      { fieldViolations: [{ field: "", description: "order must be an object" }] },
    ]);
  });

  it("takes one argument, in a list or without", async () => {
    expect(await (await post("stock", '"lamp"')).text()).toBe("7");
    expect(await (await post("stock", '["lamp"]')).text()).toBe("7");
    expect(await (await post("now", "")).text()).toBe('"1970-01-01T00:00:01.000Z"');
    expect(await (await post("now", "[]")).text()).toBe('"1970-01-01T00:00:01.000Z"');
    expect(await (await post("ping", "{}")).text()).toBe("{}");
    expect(await (await post("stock", '["lamp",1]')).json()).toMatchObject({
      status: 25,
      message: expect.stringContaining("has 2 arguments"),
    });
    expect(await (await post("stock", "[")).json()).toMatchObject({ status: 25, code: "invalid_argument" });
    expect((await post("stock", "thing=lamp", { "content-type": "application/x-www-form-urlencoded" })).status).toBe(
      415,
    );
    expect((await post("stock", '"lamp"', { accept: "application/xml" })).status).toBe(406);
  });

  it("ignores unknown fields, and sends none", async () => {
    const order = {
      ...receipt.order,
      due: "2026-01-01T00:00:00Z",
      secret: 1,
      items: [{ thing: "a", count: 1, __proto__: { x: 1 } }],
    };
    const text = JSON.stringify(order).replace('"thing"', '"__proto__":{"polluted":1},"thing"');
    const answer = (await (await post("order", text)).json()) as object;
    expect(answer).toEqual({
      id: "1",
      order: {
        items: [{ thing: "a", count: 1 }],
        customer: "ann@acme.com",
        due: "2026-01-01T00:00:00.000Z",
        colour: "RED",
      },
    });
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  it("ends at 32 invalid values, at 100 levels, and at the limit of values", async () => {
    const items = Array.from({ length: 100_000 }, () => ({}));
    const many = (await (await post("order", JSON.stringify({ items: items.slice(0, 10_000) }))).json()) as {
      message: string;
      details: { debug: { fieldViolations: unknown[] } }[];
    };
    expect(many.details[0]?.debug.fieldViolations).toHaveLength(32);
    expect(many.message).toMatch(/; and 29 more$/);
    expect(await (await post("order", JSON.stringify({ items }))).json()).toMatchObject({ code: "resource_exhausted" });
    const deep = `${'{"kind":"group","members":['.repeat(60)}${"]}".repeat(60)}`;
    expect(await (await post("area", deep)).json()).toMatchObject({ status: 25 });
    const cyclic = { kind: "group" as const, members: [] as never[] };
    cyclic.members.push(cyclic as never);
    await expect(node({}).area(cyclic)).rejects.toThrow("is nested more than 100 levels deep");
  });
});
