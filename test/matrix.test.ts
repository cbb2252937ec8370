/**
 * All combinations of sub-protocol, codec, network and kind of call, in one table. Unsupported combinations fail with an
 * explanation.
 */
import { Code, createInMemoryTransport, createRouter, type Transport } from "triple-es";
import { describe, expect, it } from "vitest";
import {
  createGreetServiceClient,
  type GreetServiceClient,
  GreetServiceDef,
} from "../examples/gen/greet/v1/greet_triple.ts";
import { hasOpenssl, sharedCertificates } from "./support/certificate.ts";
import { arriving, failureOf, greeter, greetings, openTransport, startServer } from "./support/server.ts";

type Protocol = "http-rpc" | "grpc";
type Codec = "json" | "proto";
type Network = (protocol: Protocol, codec: Codec) => Promise<Transport>;

const certificates = hasOpenssl ? sharedCertificates() : undefined;

const inMemory: Network = async (protocol, codec) =>
  createInMemoryTransport(createRouter().add(GreetServiceDef, greeter), { protocol, codec });

function cleartext(httpVersion: "1.1" | "2"): Network {
  return async (protocol, codec) => {
    const { baseUrl } = await startServer();
    return openTransport(baseUrl, { protocol, codec, httpVersion });
  };
}

function overTls(httpVersion: "1.1" | "2"): Network {
  return async (protocol, codec) => {
    const { baseUrl } = await startServer({}, { tls: certificates?.server });
    return openTransport(baseUrl, { protocol, codec, httpVersion, tls: { ca: certificates?.ca } });
  };
}

const NETWORKS = {
  "in memory": inMemory,
  "HTTP/1.1": cleartext("1.1"),
  "HTTP/2 cleartext": cleartext("2"),
  "HTTP/1.1 TLS": overTls("1.1"),
  "HTTP/2 TLS": overTls("2"),
} as const satisfies Record<string, Network>;

const KINDS: Record<string, (client: GreetServiceClient) => Promise<unknown>> = {
  unary: (client) => client.greet({ name: "Ada" }).then(({ greeting }) => [greeting]),
  "server streaming": (client) => greetings(client.greetEach({ names: ["Ada", "Bob"] })),
  "client streaming": (client) => client.greetTogether(arriving("Ada", "Bob")).then(({ greeting }) => [greeting]),
  "bidirectional streaming": (client) => greetings(client.greetOnArrival(arriving("Ada", "Bob"))),
};

const GREETED: Record<string, string[]> = {
  unary: ["Hello, Ada!"],
  "server streaming": ["Hello, Ada!", "Hello, Bob!"],
  "client streaming": ["Hello, Ada and Bob!"],
  "bidirectional streaming": ["Hello, Ada!", "Hello, Bob!"],
};

// The kinds of call that a sub-protocol supports on a network: all, those with one message in the request, or none.
const TABLE: readonly (readonly [Protocol, keyof typeof NETWORKS, "all" | "one" | "none"])[] = [
  ["grpc", "in memory", "all"],
  ["grpc", "HTTP/1.1", "none"],
  ["grpc", "HTTP/2 cleartext", "all"],
  ["grpc", "HTTP/1.1 TLS", "none"],
  ["grpc", "HTTP/2 TLS", "all"],
  ["http-rpc", "in memory", "one"],
  ["http-rpc", "HTTP/1.1", "one"],
  ["http-rpc", "HTTP/2 cleartext", "one"],
  ["http-rpc", "HTTP/1.1 TLS", "one"],
  ["http-rpc", "HTTP/2 TLS", "one"],
];

for (const [protocol, network, kinds] of TABLE) {
  describe.skipIf(network.endsWith("TLS") && !hasOpenssl)(`${protocol} over ${network}`, () => {
    describe.each<Codec>(["json", "proto"])("in %s", (codec) => {
      it.each(Object.keys(KINDS))("%s", async (kind) => {
        if (kinds === "none") {
          await expect(NETWORKS[network](protocol, codec)).rejects.toThrow('protocol "grpc" needs httpVersion "2"');
          return;
        }
        const call = KINDS[kind]?.(createGreetServiceClient(await NETWORKS[network](protocol, codec)));
        if (call === undefined) throw new Error(`there is no kind ${kind}`);
        if (kinds === "all" || kind === "unary" || kind === "server streaming") {
          expect(await call).toEqual(GREETED[kind]);
        } else {
          const { code, rawMessage } = await failureOf(call);
          expect(code).toBe(Code.Unimplemented);
          expect(rawMessage).toContain("which HTTP RPC cannot carry: it needs gRPC");
        }
      });
    });
  });
}
