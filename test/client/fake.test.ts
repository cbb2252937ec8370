/** Fake clients: the functions of a test respond like handlers, and all other methods fail. */
import { create } from "@bufbuild/protobuf";
import { Code, createFakeClient, RpcError } from "triple-es";
import { describe, expect, it } from "vitest";
import { title } from "../../fixtures/options/fake.ts";
import {
  FindRequestSchema,
  FindResponseSchema,
} from "../../fixtures/options/gen/client/fixture/options/v1/options_pb.ts";
import {
  createFakeThingsService,
  ThingsServiceDef,
} from "../../fixtures/options/gen/client/fixture/options/v1/options_triple.ts";

async function* stream<T>(...items: T[]): AsyncGenerator<T> {
  yield* items;
}

async function readAll<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe("a fake client", () => {
  it("accepts init shapes as messages, in requests and responses of every kind", async () => {
    const requests: object[] = [];
    const names = async (all: AsyncIterable<{ name: string }>) => {
      const found: string[] = [];
      for await (const one of all) {
        requests.push(one);
        found.push(one.name);
      }
      return found;
    };
    const client = createFakeThingsService({
      find: async (request) => {
        requests.push(request);
        return { shared: { title: request.name } };
      },
      async *watch(request) {
        yield { names: { 1: request.name } };
        yield {};
      },
      upload: async (all) => {
        await names(all);
        return {};
      },
      async *sync(all) {
        yield { names: Object.fromEntries((await names(all)).map((name, i) => [i, name])) };
      },
      hTTPGet: ({ value }) => ({ title: value }),
    });
    const found = await client.find({ name: "a" });
    expect(found).toEqual(create(FindResponseSchema, { shared: { title: "a" } }));
    expect(await readAll(client.watch({ name: "b" }))).toEqual([
      create(FindResponseSchema, { names: { 1: "b" } }),
      create(FindResponseSchema),
    ]);
    expect((await client.upload(stream({ name: "c" }))).$typeName).toBe("google.protobuf.Empty");
    expect(await readAll(client.sync(stream({ name: "d" }, { name: "e" })))).toEqual([
      create(FindResponseSchema, { names: { 0: "d", 1: "e" } }),
    ]);
    expect((await client.hTTPGet({ value: "f" })).title).toBe("f");
    expect(requests).toEqual(["a", "c", "d", "e"].map((name) => create(FindRequestSchema, { name })));
  });

  it("passes full messages on as they are, and the options of the call", async () => {
    const response = create(FindResponseSchema);
    const seen: unknown[] = [];
    const client = createFakeThingsService({
      find(request, options) {
        seen.push(request, options?.timeoutMs);
        return response;
      },
    });
    const request = create(FindRequestSchema);
    expect(await client.find(request, { timeoutMs: 7 })).toBe(response);
    expect(seen).toEqual([request, 7]);
    expect(seen[0]).toBe(request);
  });

  it("works as the documents show it", () => {
    expect(title).toBe("lamp");
  });

  it("calls methods of an object on the object, inherited ones too", async () => {
    class Fake {
      title = "own";
      hTTPGet() {
        return { title: this.title };
      }
    }
    expect((await createFakeThingsService(new Fake()).hTTPGet({})).title).toBe("own");
  });

  it("fails as the function fails, and as unimplemented without a function", async () => {
    const failure = new RpcError(Code.NotFound, "no such thing");
    const client = createFakeThingsService({
      find: () => Promise.reject(failure),
      // biome-ignore lint/correctness/useYield: it fails before the first response
      async *watch() {
        throw failure;
      },
    });
    await expect(client.find({})).rejects.toBe(failure);
    await expect(readAll(client.watch({}))).rejects.toBe(failure);
    await expect(client.hTTPGet({})).rejects.toThrow("/HTTPGet was called, but the fake client has no such method");
    await expect(readAll(client.sync(stream()))).rejects.toMatchObject({ code: Code.Unimplemented });
  });

  it("reports invalid functions and invalid responses", async () => {
    expect(() => createFakeClient(ThingsServiceDef, { find: 1 } as never)).toThrow(
      "find of a fake fixture.options.v1.ThingsService must be a function",
    );
    const client = createFakeClient(ThingsServiceDef, { find: () => undefined, watch: () => [], upload: () => "x" });
    await expect(client.find({})).rejects.toThrow(
      "the response of a fake /fixture.options.v1.ThingsService/Find must be a message or its init shape",
    );
    await expect(readAll(client.watch({}))).rejects.toThrow("must be an async iterable");
    await expect(client.upload(stream())).rejects.toThrow("must be a message or its init shape");
    await expect(client.find(null as never)).rejects.toThrow("the request of /fixture.options.v1.ThingsService/Find");
  });

  it("runs a streaming function when the first response is requested", async () => {
    let calls = 0;
    const client = createFakeThingsService({
      async *watch() {
        calls += 1;
        yield {};
      },
    });
    const responses = client.watch({});
    expect(calls).toBe(0);
    await readAll(responses);
    expect(calls).toBe(1);
  });
});
