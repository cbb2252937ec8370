/** Fields of bytes: both sides receive plain `Uint8Array`s, whatever array type was sent. */
import { createInMemoryTransport, createRouter, type Transport } from "triple-es";
import { createTransport as createFetchTransport } from "triple-es/fetch";
import { createServer, gzip, type NodeTransportOptions, type Server } from "triple-es/node";
import { createTransport as createProtoTransport } from "triple-es/proto";
import { hessian2 } from "triple-es-dubbo/hessian2";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  createParametersServiceClient,
  ParametersServiceDef,
  type ParametersServiceHandler,
} from "../../../fixtures/gen/fixture/parameters/v1/parameters_triple.ts";
import { ECHO } from "../../support/parameters.ts";
import { openTransport } from "../../support/server.ts";
import { createShopClient, everything, ShopDef, type ShopHandler, shop } from "../../support/shop.ts";

interface Received {
  readonly files: Uint8Array[];
  readonly values: unknown[];
}

/** Handlers that keep the bytes they receive, and return them. */
function keeping(): { received: Received; files: ParametersServiceHandler; shop: ShopHandler } {
  const received: Received = { files: [], values: [] };
  return {
    received,
    files: {
      ...ECHO,
      file(request) {
        received.files.push(request.content);
        return request;
      },
    },
    shop: {
      ...shop,
      echo(value) {
        received.values.push(value?.bytes);
        return value;
      },
    },
  };
}

async function listen(handlers: ReturnType<typeof keeping>): Promise<string> {
  const server: Server = createServer({ serializations: [hessian2], compressMinBytes: 0 })
    .add(ParametersServiceDef, handlers.files)
    .add(ShopDef, handlers.shop);
  await server.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return `http://127.0.0.1:${server.address.port}`;
}

type Options = Omit<NodeTransportOptions, "baseUrl">;
const overNode =
  (options: Options) =>
  async (handlers: ReturnType<typeof keeping>): Promise<Transport> =>
    openTransport(await listen(handlers), { serializations: [hessian2], compressMinBytes: 0, ...options });
const inMemory =
  (protocol: "grpc" | "http-rpc") =>
  async (handlers: ReturnType<typeof keeping>): Promise<Transport> =>
    createInMemoryTransport(createRouter().add(ParametersServiceDef, handlers.files), { protocol });

const TRANSPORTS = {
  grpc: overNode({ protocol: "grpc" }),
  "grpc with gzip": overNode({ protocol: "grpc", compression: gzip.name }),
  "http-rpc in HTTP/1.1": overNode({ protocol: "http-rpc" }),
  "http-rpc in HTTP/2": overNode({ protocol: "http-rpc", httpVersion: "2" }),
  "http-rpc with gzip": overNode({ protocol: "http-rpc", compression: gzip.name }),
  "http-rpc in JSON": overNode({ protocol: "http-rpc", codec: "json" }),
  "grpc in memory": inMemory("grpc"),
  "http-rpc in memory": inMemory("http-rpc"),
  "triple-es/proto": async (handlers: ReturnType<typeof keeping>) =>
    createProtoTransport({ baseUrl: await listen(handlers) }),
  "triple-es/fetch": async (handlers: ReturnType<typeof keeping>) =>
    createFetchTransport({ baseUrl: await listen(handlers), codec: "proto" }),
};

describe.each(Object.entries(TRANSPORTS))("fields of bytes over %s", (_name, open) => {
  // The longer value arrives in several chunks.
  it.each([3, 200_000])("are plain on both sides, %i of them", async (length) => {
    const handlers = keeping();
    const client = createParametersServiceClient(await open(handlers));
    const content = new Uint8Array(length).fill(7);
    const { content: answered } = await client.file({ name: "a", content });
    for (const bytes of [handlers.received.files[0], answered]) {
      expect(bytes?.constructor).toBe(Uint8Array);
      expect(Buffer.compare(bytes as Uint8Array, content)).toBe(0);
    }
  });
});

describe.each(["grpc", "grpc with gzip"] as const)("byte arrays of methods without IDL over %s", (name) => {
  it("are plain on both sides", async () => {
    const handlers = keeping();
    const client = createShopClient(await TRANSPORTS[name](handlers));
    const answer = await client.echo(everything);
    for (const bytes of [handlers.received.values[0], answer?.bytes]) {
      expect((bytes as Uint8Array).constructor).toBe(Uint8Array);
      expect(bytes).toEqual(everything.bytes);
    }
  });
});
