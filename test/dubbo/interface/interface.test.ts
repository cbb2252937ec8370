/** Services without IDL: clients and handlers with arguments by position, in both sub-protocols. */
import { Code, createInMemoryTransport, createRouter, RpcError, type Transport } from "triple-es";
import { createTransport, fetchHandler } from "triple-es/fetch";
import { hessian2 } from "triple-es-dubbo/hessian2";
import { findException, JavaException } from "triple-es-dubbo/java";
import { describe, expect, it } from "vitest";
import { createShopClient, everything, ShopDef, type ShopHandler, shop, type User } from "../../support/shop.ts";

const router = (handler: Partial<ShopHandler> = {}) =>
  createRouter({ serializations: [hessian2] }).add(ShopDef, { ...shop, ...handler });

const transports: readonly [string, (handler?: Partial<ShopHandler>) => Transport][] = [
  ["sub-protocol B", (handler) => createInMemoryTransport(router(handler), { serializations: [hessian2] })],
  ["sub-protocol A", (handler) => createInMemoryTransport(router(handler), { protocol: "http-rpc" })],
];

async function caught(call: Promise<unknown>): Promise<RpcError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof RpcError) return error;
  throw new Error("the call was expected to fail", { cause: error });
}

describe.each(transports)("a service without IDL over %s", (_name, open) => {
  it("takes arguments by position", async () => {
    expect(await createShopClient(open()).sayHi("Ann", "Hi")).toBe("Hi, Ann!");
  });

  it("carries a value of every type there and back", async () => {
    expect(await createShopClient(open()).echo(everything)).toEqual(everything);
  });

  it("carries null, nothing and no arguments", async () => {
    const client = createShopClient(open({ find: () => null }));
    expect(await client.find(1n)).toBeNull();
    expect(await client.reset()).toBeUndefined();
  });

  it("accepts options after the arguments, and passes the context to the handler", async () => {
    const client = createShopClient(
      open({ sayHi: (_name, _greeting, context) => context.requestHeaders.get("trace-id") ?? "none" }),
    );
    expect(await client.sayHi("a", "b", { headers: { "trace-id": "42" } })).toBe("42");
    expect(await client.sayHi("a", "b")).toBe("none");
  });

  it("distinguishes overloads", async () => {
    const client = createShopClient(open());
    expect((await client.find(5n))?.name).toBe("by id");
    expect((await client.findByName("Bob"))?.name).toBe("Bob");
    expect((await client.findBetween(3, 7))?.age).toBe(4);
  });

  it("refuses an argument that its type cannot hold, before anything is sent", async () => {
    const client = createShopClient(open());
    const error = await caught(client.findBetween(1, 2 ** 31));
    expect(error.code).toBe(Code.InvalidArgument);
    expect(error.rawMessage).toContain('argument "to": 2147483648 is not a valid int');
    expect((await caught(client.findBetween(null as unknown as number, 1))).rawMessage).toContain(
      "null is not a valid int",
    );
  });

  it("hides an invalid result from the caller", async () => {
    const seen: unknown[] = [];
    const wrong = createRouter({ serializations: [hessian2], onError: (error) => seen.push(error) }).add(ShopDef, {
      ...shop,
      total: () => "much" as unknown as number,
    });
    const protocol = _name.endsWith("A") ? "http-rpc" : "grpc";
    const client = createShopClient(createInMemoryTransport(wrong, { protocol, serializations: [hessian2] }));
    expect((await caught(client.total([1]))).code).toBe(Code.Internal);
    expect(String(seen[0])).toContain('the result: "much" is not a valid double');
  });

  it("sends the exception that a handler throws", async () => {
    const error = await caught(createShopClient(open()).find(-1n));
    expect(error.code).toBe(Code.Unknown);
    expect(error.rawMessage).toBe("com.acme.NoSuchUserException: no user -1");
  });
});

describe("sub-protocol A", () => {
  it.each([
    ["array", "[[1.5]]"],
    ["object", "[1.5]"],
  ] as const)("sends an only argument as jsonBody says: %s", async (jsonBody, expected) => {
    const handle = fetchHandler(router());
    const sent: string[] = [];
    const client = createShopClient(
      createTransport({
        baseUrl: "https://shop.example",
        jsonBody,
        fetch: async (input, init) => {
          const request = new Request(input, init);
          sent.push(await request.clone().text());
          return handle(request);
        },
      }),
    );
    expect(await client.total([1.5])).toBe(1.5);
    expect(await client.sayHi("Ann", "Hi")).toBe("Hi, Ann!");
    await client.reset();
    expect(sent).toEqual([expected, '["Ann","Hi"]', "[]"]);
  });
});

describe("sub-protocol B", () => {
  const client = createShopClient(createInMemoryTransport(router(), { serializations: [hessian2] }));
  const each = async <T>(values: AsyncIterable<T>): Promise<T[]> => {
    const all: T[] = [];
    for await (const value of values) all.push(value);
    return all;
  };
  async function* from<T>(...values: T[]): AsyncGenerator<T, void> {
    yield* values;
  }

  it("streams values in every direction", async () => {
    expect(await each(client.count(1, 3))).toEqual([1, 2, 3]);
    expect(await client.sum(from(1n, 2n))).toBe(3n);
    expect(await each(client.upper(from("a", "b")))).toEqual(["A", "B"]);
  });

  it("carries an exception of Java with its class", async () => {
    const error = await caught(client.find(-1n));
    expect(error).toBeInstanceOf(JavaException);
    expect(findException(error)).toMatchObject({
      className: "com.acme.NoSuchUserException",
      detailMessage: "no user -1",
      fields: { userId: 7 },
    });
  });

  it("keeps objects that are there twice, and those inside themselves", async () => {
    const friends: User[] = [];
    const ann: User = { friends, id: null, age: 1, name: "Ann" };
    friends.push(ann, ann);
    const echoed = await client.echo({ ...everything, user: ann });
    expect(echoed.user?.friends?.[0]).toBe(echoed.user);
    expect(echoed.user?.friends?.[1]).toBe(echoed.user);
  });

  it("names the missing serialization", async () => {
    const bare = createShopClient(createInMemoryTransport(router()));
    expect((await caught(bare.sayHi("a", "b"))).message).toContain("serializations: [hessian2]");
  });
});
