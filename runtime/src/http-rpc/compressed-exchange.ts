/**
 * Compression on the client's side of sub-protocol A, where it is all HTTP's: an exchange around an exchange. Pages do
 * not load it, because `fetch` inflates by itself.
 */
import { encodingList, findCompression, IDENTITY } from "../codec/compression.ts";
import { type Body, type Exchange, type HttpRequest, type HttpResponse, wholeBody } from "../http/exchange.ts";
import { type ClientOptions, type ClientProtocol, compressMessage, decompressMessage } from "../protocol/protocol.ts";
import { badResponse, createUnaryCall, refuseStreams } from "./client.ts";

/** Makes the client half of sub-protocol A, with the compressions of the options. */
export const createHttpRpcClient: ClientProtocol = (exchange, options) =>
  refuseStreams(createUnaryCall(compressExchange(exchange, options), options));

/** Compresses the bodies of requests, and inflates those of responses when they are read. */
function compressExchange(exchange: Exchange, options: ClientOptions): Exchange {
  const { compressions, sendCompression } = options;
  const accepted = compressions.length === 0 ? [] : ["accept-encoding", encodingList(compressions, ", ")];

  /** Spec: Payload of sub-protocol A. The headers are the request's own, made for this call. */
  async function compress(request: HttpRequest): Promise<HttpRequest> {
    const { body, headers } = request;
    const compressed = body.whole && (await compressMessage(body.whole, sendCompression, options));
    if (compressed === undefined || sendCompression === undefined) return request;
    headers.append("content-encoding", sendCompression.name);
    return { ...request, body: wholeBody(compressed) };
  }

  function inflating({ headers, body }: HttpResponse): Body {
    const encoding = headers.get("content-encoding")?.toLowerCase() ?? IDENTITY;
    if (encoding === IDENTITY) return body;
    const compression = findCompression(compressions, encoding);
    return {
      async bytes(maxMessageBytes) {
        const bytes = await body.bytes(maxMessageBytes);
        if (compression !== undefined) return decompressMessage(bytes, compression, { maxMessageBytes }, badResponse);
        throw badResponse(`the server answered with the content encoding "${encoding}", which is not supported`);
      },
      // Nobody reads it in pieces; whoever leaves the iteration gives up the body.
      [Symbol.asyncIterator]: () => body[Symbol.asyncIterator](),
    };
  }

  return async (request) => {
    request.headers.appendRaw(accepted);
    const response = await exchange(sendCompression === undefined ? request : await compress(request));
    const body = inflating(response);
    return body === response.body ? response : { ...response, body };
  };
}
