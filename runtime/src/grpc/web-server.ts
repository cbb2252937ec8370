/**
 * gRPC-Web, server half: answers requests of pages over HTTP/1.1 and HTTP/2 as sub-protocol B, with the trailers at the
 * end of the body.
 */
import { joinAll } from "../call/bytes.ts";
import { DONE, iteration } from "../call/message-stream.ts";
import { Metadata } from "../call/metadata.ts";
import { type Body, streamBody, WholeBody } from "../http/body.ts";
import type { HttpResponse } from "../http/exchange.ts";
import type { Answer, ServerProtocol } from "../protocol/protocol.ts";
import type { ResolvedRouterOptions } from "../server/options.ts";
import { refuseMethod, refuseType } from "./content-type.ts";
import { GrpcServer } from "./server.ts";
import { encodeTrailers } from "./web-framing.ts";
import { decodeBase64Body, toBase64 } from "./web-text.ts";

//     Content-Type → "application/grpc-web" [ "-text" ] [ "+" codec ] [ ";" parameters ]
const WEB_REQUEST_TYPE = /^application\/grpc-web(-text)?(\+[^;\s]+)?\s*(?:;.*)?$/i;

export class GrpcWebServer implements ServerProtocol {
  readonly #grpc: GrpcServer;
  readonly #supported: string;

  constructor(options: ResolvedRouterOptions) {
    // Requests of pages have no `te`, because a page cannot set this header.
    this.#grpc = new GrpcServer({ ...options, requireTe: false });
    const suffixes = ["", ...options.codecs.map(({ name }) => `+${name}`)];
    this.#supported = ["application/grpc-web", "application/grpc-web-text"]
      .flatMap((type) => suffixes.map((suffix) => type + suffix))
      .join(", ");
  }

  accept(contentType: string): Answer | undefined {
    const type = WEB_REQUEST_TYPE.exec(contentType.toLowerCase());
    if (type === null) return undefined;
    const [, text = "", suffix = ""] = type;
    const isText = text !== "";
    const formats = this.#grpc.formatsOf(`application/grpc${suffix}`);
    return async (request, destination) => {
      if (request.method !== "POST") return refuseMethod();
      const body = isText ? decodeBase64Body(request.body) : request.body;
      const response = await this.#grpc.serve(request, destination, formats, body);
      if (response === undefined) return refuseType(contentType, this.#supported);
      return toWebResponse(response, `application/grpc-web${text}${suffix}`, isText);
    };
  }
}

/** Fields of a trailers-only response that are leading metadata. */
const LEADING = new Set(["content-type", "grpc-accept-encoding"]);

/**
 * Moves the trailers of a response into its body, including those of a trailers-only response, because pages of other
 * origins cannot read headers that a server does not expose.
 */
function toWebResponse(response: HttpResponse, contentType: string, isText: boolean): HttpResponse {
  const isTrailersOnly = response.headers.has("grpc-status");
  const trailers = isTrailersOnly ? response.headers.filter((name) => !LEADING.has(name)) : response.trailers;
  const headers = new Metadata({ "content-type": contentType });
  headers.appendAll(
    response.headers.filter((name) => name !== "content-type" && (!isTrailersOnly || LEADING.has(name))),
  );
  const body = withTrailers(response.body, trailers, isText ? toBase64 : (bytes) => bytes);
  return { status: 200, headers, body, trailers: new Metadata() };
}

function withTrailers(body: Body, trailers: Metadata, encode: (bytes: Uint8Array) => Uint8Array): Body {
  const { whole } = body;
  if (whole === undefined) return streamBody(appendTrailers(body, trailers, encode));
  return new WholeBody(encode(joinAll([whole, encodeTrailers(trailers)])));
}

/** Appends the frame of trailers. No generator: one that waits for a message runs `return` only after the message. */
function appendTrailers(
  body: Body,
  trailers: Metadata,
  encode: (bytes: Uint8Array) => Uint8Array,
): AsyncIterable<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  let ended = false;
  const next = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
    if (ended) return DONE;
    const step = await chunks.next();
    ended = step.done === true;
    // The trailers are complete only after the last chunk.
    return { done: false, value: encode(step.done ? encodeTrailers(trailers) : step.value) };
  };
  return iteration(next, () => chunks.return?.());
}
