/**
 * The cases of sub-protocol A: the client of triple-es with servers of peers, and their HTTP clients with the server of
 * triple-es.
 */
import { deepStrictEqual as equal, ok } from "node:assert/strict";
import { type ClosableTransport, Code, RpcError } from "triple-es";
import { createTransport, type NodeTransportOptions } from "triple-es/node";
import { type Credentials, failureOf, type Target } from "../peer.ts";
import { failure } from "./cases.ts";
import { createPeerServiceClient, type PeerServiceClient } from "./gen/interop/v1/peer_triple.ts";
import type { Outcomes } from "./matrix.ts";
import { TRAILING_BYTES } from "./service.ts";

type Open = (options?: Omit<NodeTransportOptions, "baseUrl" | "protocol">) => PeerServiceClient;
type Case = (open: Open) => Promise<void>;

/** The body in JSON that servers of peers require. */
const OBJECT = { codec: "json", jsonBody: "object" } as const;

async function echo(client: PeerServiceClient): Promise<void> {
  const number = 9_007_199_254_740_993n;
  const response = await client.unary({ text: "Zoë", number, data: Uint8Array.of(0, 255) });
  equal(response.text, "Zoë");
  equal(response.number, number);
  equal([...response.data], [0, 255]);
}

export const httpRpcCases = {
  json_object: (open) => echo(open(OBJECT)),
  json_array: (open) => echo(open({ codec: "json" })),
  proto: (open) => echo(open()),
  gzip: (open) => echo(open({ ...OBJECT, compression: "gzip", compressMinBytes: 0 })),

  async metadata(open) {
    const headers = { "x-text": "some text", "x-bytes-bin": TRAILING_BYTES };
    const { metadata } = await open(OBJECT).unary({}, { headers });
    equal(metadata["x-text"], "some text");
    equal(metadata["x-bytes-bin"], "q83v/w");
  },

  async trailers(open) {
    let bytes: Uint8Array | undefined;
    const onTrailers = (trailers: { getBinary(name: string): Uint8Array | undefined }): void => {
      bytes = trailers.getBinary("x-bytes-bin");
    };
    await open(OBJECT).unary({}, { onTrailers });
    equal(Uint8Array.from(bytes ?? []), TRAILING_BYTES);
  },

  async status(open) {
    for (let code = 1; code <= 16; code++) {
      const error = await failure(code as Code, open(OBJECT).unary({ failure: { code, message: "no such thing" } }));
      equal(error.rawMessage, "no such thing");
    }
  },

  async deadline(open) {
    await failure(Code.DeadlineExceeded, open(OBJECT).unary({ delayMs: 2000 }, { timeoutMs: 200 }));
  },

  async group_and_version(open) {
    equal((await open(OBJECT).unary({}, { group: "blue", version: "1.2.3" })).service, "blue/1.2.3");
    equal((await open(OBJECT).unary({})).service, "");
  },

  async unknown_group(open) {
    await failure(Code.Unimplemented, open(OBJECT).unary({}, { group: "red" }));
  },

  async broken_body(open) {
    const broken = { name: "json", encode: () => Buffer.from('{"text":'), decode: () => ({}) };
    await failure(Code.InvalidArgument, open({ codec: broken, jsonBody: "object" }).unary({}));
  },

  async events(open) {
    const texts: string[] = [];
    for await (const { text } of open(OBJECT).serverStream({ text: "x", responses: 3 })) texts.push(text);
    equal(texts, ["x0", "x1", "x2"]);
  },

  async failure_after_events(open) {
    const texts: string[] = [];
    const read = async (): Promise<void> => {
      const request = { text: "x", responses: 2, failure: { code: Code.NotFound, message: "no such thing" } };
      for await (const { text } of open(OBJECT).serverStream(request)) texts.push(text);
    };
    const error = await read().catch((reason: unknown) => reason);
    // Dubbo for Java sends the HTTP status only, and the name of the code in the message.
    ok(error instanceof RpcError && error.rawMessage.endsWith("no such thing"), String(error));
    equal(texts, ["x0", "x1"]);
  },

  async unknown_codec(open) {
    const unknown = { name: "x-unknown", encode: () => Buffer.from("?"), decode: () => ({}) };
    const error = await open({ codec: unknown })
      .unary({})
      .catch((reason: unknown) => reason);
    ok(error instanceof RpcError && error.code === Code.Internal, String(error));
  },
} satisfies Readonly<Record<string, Case>>;

export const httpRpcCaseNames = Object.keys(httpRpcCases);

/** The cases that `HttpBodies.java` runs on the interface without a proto file. */
export const bodyCaseNames = [
  ...["form", "form_of_long", "form_of_list", "form_of_map", "form_of_fields", "form_of_JSON", "form_by_position"],
  ...["multipart", "multipart_of_JSON", "multipart_of_bytes", "text", "text_in_latin1", "text_to_text"],
  ...["XML", "XML_to_JSON", "JSON_to_XML"],
];

/** Runs the cases over one version of HTTP. */
export async function runHttpRpcCases(
  { port, credentials }: Target,
  { httpVersion, javaNames }: { readonly httpVersion: "1.1" | "2"; readonly javaNames: boolean },
): Promise<Outcomes> {
  const transports: ClosableTransport[] = [];
  const open: Open = (options = {}) => {
    const scheme = credentials === undefined ? "http" : "https";
    const baseUrl = `${scheme}://127.0.0.1:${port}`;
    const transport = createTransport({
      baseUrl,
      protocol: "http-rpc",
      httpVersion,
      javaNames,
      tls: tlsOf(credentials),
      ...options,
    });
    transports.push(transport);
    return createPeerServiceClient(transport, { timeoutMs: 5_000 });
  };
  const outcomes = new Map<string, string | undefined>();
  try {
    for (const [name, run] of Object.entries(httpRpcCases)) outcomes.set(name, await failureOf(run(open)));
  } finally {
    await Promise.all(transports.map((transport) => transport.close()));
  }
  return outcomes;
}

function tlsOf(credentials: Credentials | undefined): NodeTransportOptions["tls"] {
  return credentials === undefined ? undefined : { ca: credentials.ca, servername: credentials.servername };
}
