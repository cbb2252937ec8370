/** Responses to large requests are encoded in steps, in every protocol and format. */
import { type Codec, jsonCodec, protoCodec } from "triple-es";
import { createServer, type NodeTransportOptions } from "triple-es/node";
import { addRest } from "triple-es/rest";
import { describe, expect, it, onTestFinished } from "vitest";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { arriving, connectGreeter, greeter, greetings } from "../support/server.ts";

const LONG = "x".repeat(20_000);

/** A codec that records the texts that it is asked to encode in steps. It declines those with an exclamation mark. */
function recording(codec: Codec): { readonly codec: Codec; readonly seen: string[] } {
  const seen: string[] = [];
  const inSteps = <T>(message: object, encode: () => T): Promise<T> | undefined => {
    const { greeting } = message as { readonly greeting: string };
    seen.push(greeting.slice(0, 2));
    return greeting.endsWith("!") ? undefined : new Promise((resolve) => setImmediate(() => resolve(encode())));
  };
  const { values } = codec;
  return {
    codec: {
      ...codec,
      encodeLarge: (type, message, generated) => inSteps(message, () => codec.encode(type, message, generated)),
      ...(values && {
        values: {
          ...values,
          toLargeValue: (type, message) => inSteps(message, () => values.toValue(type, message)),
        },
      }),
    },
    seen,
  };
}

async function start() {
  const [proto, json] = [recording(protoCodec), recording(jsonCodec)];
  const server = createServer({ codecs: [proto.codec, json.codec] }).add(GreetServiceDef, {
    ...greeter,
    greet: ({ name }) => ({ greeting: name }),
  });
  addRest(server, { rules: [{ selector: "greet.v1.GreetService.Greet", post: "/v1/greet", body: "*" }] });
  await server.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => server.close());
  return { baseUrl: `http://127.0.0.1:${server.address.port}`, proto: proto.seen, json: json.seen };
}

const UNARY: readonly (readonly [string, "proto" | "json", Omit<NodeTransportOptions, "baseUrl">])[] = [
  ["gRPC", "proto", { protocol: "grpc" }],
  ["gRPC with JSON", "json", { protocol: "grpc", codec: "json" }],
  ["gRPC with compression", "proto", { protocol: "grpc", compression: "gzip" }],
  ["HTTP RPC with JSON", "json", { protocol: "http-rpc", httpVersion: "1.1", codec: "json" }],
  ["HTTP RPC with proto", "proto", { protocol: "http-rpc", httpVersion: "2", codec: "proto" }],
];

describe("a large request", () => {
  it.each(UNARY)("is answered in steps: %s", async (_, codec, options) => {
    const { baseUrl, ...seen } = await start();
    const { greet } = connectGreeter(baseUrl, options);
    expect((await greet({ name: LONG })).greeting).toBe(LONG);
    expect(seen[codec]).toEqual(["xx"]);
    // The codec declines.
    expect((await greet({ name: `${LONG}!` })).greeting).toBe(`${LONG}!`);
    expect((await greet({ name: "yy" })).greeting).toBe("yy");
    expect(seen[codec]).toEqual(["xx", "xx"]);
  });

  it("is answered in steps: a stream, after its first large message", async () => {
    const { baseUrl, proto } = await start();
    const { greetOnArrival } = connectGreeter(baseUrl, { protocol: "grpc" });
    const answers = await greetings(greetOnArrival(arriving("Ada", LONG, "Bo", `${LONG}!`)));
    expect(answers).toEqual(["Ada", LONG, "Bo", `${LONG}!`].map((name) => expect.stringContaining(name)));
    expect(proto).toHaveLength(3);
  });

  it("is answered in steps: a route of REST", async () => {
    const { baseUrl, json } = await start();
    const post = async (name: string): Promise<unknown> => {
      const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ name }) };
      return (await fetch(`${baseUrl}/v1/greet`, init)).json();
    };
    for (const name of [LONG, `${LONG}!`, "yy"]) expect(await post(name)).toEqual({ greeting: name });
    expect(json).toEqual(["xx", "xx"]);
  });

  it("is answered in steps: XML", async () => {
    const { baseUrl, json } = await start();
    const headers = { "content-type": "application/json", accept: "application/xml" };
    const init = { method: "POST", headers, body: JSON.stringify([{ name: LONG }]) };
    const response = await fetch(`${baseUrl}/greet.v1.GreetService/Greet`, init);
    expect(await response.text()).toContain(`<greeting>${LONG}</greeting>`);
    expect(json).toEqual(["xx"]);
  });
});
