/** Large messages are decoded a few at a time, so that not all of them take the memory of decoding at once. */
import { create, type DescMessage } from "@bufbuild/protobuf";
import { type Codec, createRouter, protoCodec, type Router } from "triple-es";
import { describe, expect, it } from "vitest";
import { GreetRequestSchema } from "../../examples/gen/greet/v1/greet_pb.ts";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { GREET, grpcRequest, rpcRequest, textOf } from "../support/greeter.ts";
import { greeter } from "../support/server.ts";

const PROTOCOLS = ["sub-protocol A", "sub-protocol B"] as const;
const KIB = 1024;

/** A router whose codec decodes a large message when the test says so. */
function routing(): { router: Router; decoding: (() => void)[]; sizes: number[] } {
  const decoding: (() => void)[] = [];
  const sizes: number[] = [];
  const codec: Codec = {
    ...protoCodec,
    decodeLarge: async (_type: DescMessage, bytes: Uint8Array) => {
      sizes.push(bytes.byteLength);
      await new Promise<void>((resolve) => decoding.push(resolve));
      return create(GreetRequestSchema, { name: String(bytes.byteLength) });
    },
  };
  return { router: createRouter({ codecs: [codec] }).add(GreetServiceDef, greeter), decoding, sizes };
}

/** Sends a message of a size, and returns the text of the response. */
async function send(
  router: Router,
  protocol: string,
  size: number,
  signal = new AbortController().signal,
): Promise<string> {
  if (protocol === "sub-protocol A") {
    const headers = { "content-type": "application/proto" };
    return textOf(await router.exchange(rpcRequest({ path: GREET, headers, body: new Uint8Array(size), signal })));
  }
  const body = new Uint8Array(size + 5);
  new DataView(body.buffer).setUint32(1, size);
  const headers = { "content-type": "application/grpc", te: "trailers" };
  const response = await router.exchange(grpcRequest({ path: GREET, headers, body, signal }));
  return (await textOf(response)) || String(response.headers.get("grpc-status"));
}

const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
};

describe.each(PROTOCOLS)("a server of %s", (protocol) => {
  it.each([
    [4, 64 * KIB],
    [16, 17 * KIB],
  ])("decodes at most %i messages of %i bytes at a time, in order", async (most, size) => {
    const { router, decoding, sizes } = routing();
    const answers = Array.from({ length: 20 }, (_, i) => send(router, protocol, size + i));
    for (let done = 0; done < 20; done++) {
      await turns(5);
      expect(decoding.length).toBe(Math.min(most, 20 - done));
      decoding.shift()?.();
    }
    for (const [i, answer] of (await Promise.all(answers)).entries()) expect(answer).toContain(`Hello, ${size + i}!`);
    expect(sizes).toEqual(Array.from({ length: 20 }, (_, i) => size + i));
  });

  it("decodes small and smaller messages while large ones wait", async () => {
    const { router, decoding, sizes } = routing();
    const large = Array.from({ length: 8 }, () => send(router, protocol, 1024 * KIB));
    await turns(5);
    const smaller = send(router, protocol, 20 * KIB);
    expect(await send(router, protocol, 0)).toContain("Hello, !");
    await turns(5);
    expect(sizes.at(-1)).toBe(20 * KIB);
    decoding.pop()?.();
    expect(await smaller).toContain(`Hello, ${20 * KIB}!`);
    for (let i = 0; i < 8; i++) {
      decoding.shift()?.();
      await turns(5);
    }
    await Promise.all(large);
  });

  it("does not decode the message of a call that has ended while it waited", async () => {
    const { router, decoding, sizes } = routing();
    const first = Array.from({ length: 4 }, () => send(router, protocol, 64 * KIB));
    await turns(5);
    const controller = new AbortController();
    const cancelled = send(router, protocol, 65 * KIB, controller.signal);
    const last = send(router, protocol, 66 * KIB);
    await turns(5);
    controller.abort();
    await cancelled;
    for (let i = 0; i < 5; i++) {
      decoding.shift()?.();
      await turns(5);
    }
    expect(await last).toContain(`Hello, ${66 * KIB}!`);
    await Promise.all(first);
    expect(sizes).not.toContain(65 * KIB);
  });
});
