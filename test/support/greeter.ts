/** The greeter without a network: tests pass requests to a router, and clients use exchanges of the test. */
import { create, toBinary } from "@bufbuild/protobuf";
import { createRouter, Metadata, type Router, type RouterOptions, type ServiceOptions } from "triple-es";
import { GreetRequestSchema, GreetResponseSchema } from "../../examples/gen/greet/v1/greet_pb.ts";
import {
  createGreetServiceClient,
  type GreetServiceClient,
  GreetServiceDef,
  type GreetServiceHandler,
} from "../../examples/gen/greet/v1/greet_triple.ts";
import { concat } from "../../runtime/src/call/bytes.ts";
import type { CallDefaults } from "../../runtime/src/client/client.ts";
import { protoCodec } from "../../runtime/src/codec/codec.ts";
import { type Body, streamBody, WholeBody } from "../../runtime/src/http/body.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../../runtime/src/http/exchange.ts";
import { type ClientProtocolOptions, resolveClientOptions } from "../../runtime/src/protocol/options.ts";
import type { ClientProtocol } from "../../runtime/src/protocol/protocol.ts";
import { greeter } from "./server.ts";

export const GREET = "/greet.v1.GreetService/Greet";

/** Header fields as an engine passes them: unchecked. `undefined` removes a default. */
export type Fields = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The bytes of a body: text, a whole array, or chunks. */
export type Bytes = string | Uint8Array | readonly Uint8Array[];

export interface RoutedGreeter {
  readonly router: Router;
  readonly exchange: Exchange;
  /** The errors that the error hook received. */
  readonly errors: unknown[];
}

/** A router with a greeter, some methods of which are replaced. */
export function routeGreeter(
  handler: Partial<GreetServiceHandler> = {},
  options: RouterOptions = {},
  serviceOptions: ServiceOptions = {},
): RoutedGreeter {
  const errors: unknown[] = [];
  const router = createRouter({ onError: (error) => errors.push(error), ...options });
  router.add(GreetServiceDef, { ...greeter, ...handler }, serviceOptions);
  return { router, exchange: router.exchange, errors };
}

export interface GivenRequest {
  readonly method?: string;
  readonly path?: string;
  readonly version?: "1.1" | "2";
  readonly headers?: Fields;
  readonly body?: Bytes;
  readonly signal?: AbortSignal;
}

/** A request of sub-protocol A: by default Greet with one argument in JSON. */
export function rpcRequest(given: GivenRequest = {}): HttpRequest {
  return {
    method: given.method ?? "POST",
    path: given.path ?? GREET,
    version: given.version ?? "1.1",
    headers: toMetadata({ "content-type": "application/json", ...given.headers }),
    body: toBody(given.body ?? '[{"name":"Ada"}]'),
    signal: given.signal,
  };
}

/** A request of sub-protocol B: by default Greet with one message in binary. */
export function grpcRequest(given: GivenRequest = {}): HttpRequest {
  return {
    method: given.method ?? "POST",
    path: given.path ?? GREET,
    version: given.version ?? "2",
    headers: toMetadata({ "content-type": "application/grpc+proto", te: "trailers", ...given.headers }),
    body: toBody(given.body ?? envelope(greetRequest("Ada"))),
    signal: given.signal,
  };
}

export interface GivenResponse {
  readonly status?: number;
  readonly headers?: Fields;
  readonly body?: Bytes;
  readonly trailers?: Fields;
}

/** A response as a server may send it. The only default is the status 200. */
export function response(given: GivenResponse = {}): HttpResponse {
  return {
    status: given.status ?? 200,
    headers: toMetadata(given.headers ?? {}),
    body: toBody(given.body ?? ""),
    trailers: toMetadata(given.trailers ?? {}),
  };
}

export interface WiredClient {
  readonly client: GreetServiceClient;
  /** The requests that the exchange received. */
  readonly requests: HttpRequest[];
}

/** A client whose requests are answered by an exchange of the test. */
export function wireClient(
  protocol: ClientProtocol,
  answer: HttpResponse | Exchange,
  options: Partial<ClientProtocolOptions> = {},
  defaults: CallDefaults = {},
): WiredClient {
  const requests: HttpRequest[] = [];
  const exchange: Exchange = async (request) => {
    requests.push(request);
    return typeof answer === "function" ? answer(request) : answer;
  };
  const call = protocol(exchange, resolveClientOptions({ codec: protoCodec, compressions: [], ...options }));
  return { client: createGreetServiceClient({ call }, defaults), requests };
}

/** A GreetRequest in binary. */
export function greetRequest(name: string): Uint8Array {
  return toBinary(GreetRequestSchema, create(GreetRequestSchema, { name }));
}

/** A GreetResponse in binary. */
export function greetResponse(greeting: string): Uint8Array {
  return toBinary(GreetResponseSchema, create(GreetResponseSchema, { greeting }));
}

/** A message after the prefix of sub-protocol B: flags, length in four bytes. */
export function envelope(data: Uint8Array | string, flags = 0): Uint8Array {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  const prefix = new DataView(new ArrayBuffer(5));
  prefix.setUint8(0, flags);
  prefix.setUint32(1, bytes.byteLength);
  return joined(new Uint8Array(prefix.buffer), bytes);
}

export function joined(...chunks: Uint8Array[]): Uint8Array {
  return concat(
    chunks,
    chunks.reduce((length, chunk) => length + chunk.byteLength, 0),
  );
}

/** Returns all bytes of a body as text. */
export async function textOf({ body }: { readonly body: Body }): Promise<string> {
  return new TextDecoder().decode(await body.bytes(2 ** 31));
}

/** Parses a body in JSON. */
export async function jsonOf(message: { readonly body: Body }): Promise<unknown> {
  return JSON.parse(await textOf(message));
}

/** A body that yields its chunks one by one, and records when its reader stops. */
export async function* chunked(chunks: Iterable<Uint8Array>, onReturn?: () => void): AsyncGenerator<Uint8Array, void> {
  let ended = false;
  try {
    for (const chunk of chunks) yield chunk;
    ended = true;
  } finally {
    if (!ended) onReturn?.();
  }
}

export function toMetadata(fields: Fields): Metadata {
  return Metadata.fromRaw(
    Object.entries(fields).flatMap(([name, value = []]) => [value].flat().flatMap((one) => [name, one])),
  );
}

function toBody(bytes: Bytes): Body {
  if (typeof bytes === "string") return new WholeBody(new TextEncoder().encode(bytes));
  return bytes instanceof Uint8Array ? new WholeBody(bytes) : streamBody(chunked(bytes));
}
