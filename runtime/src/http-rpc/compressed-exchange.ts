/**
 * Content coding on the client's side of sub-protocol A (RFC 9110, section 8.4): an exchange that wraps another
 * exchange. Bundles of pages do not include it, because `fetch` decompresses by itself.
 */
import { encodingList, findCompression, IDENTITY } from "../codec/compression.ts";
import { type Body, cancelBody, WholeBody } from "../http/body.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../http/exchange.ts";
import { badResponse, quote } from "../protocol/error.ts";
import { compressMessage, decompressMessage } from "../protocol/message.ts";
import type { ClientProtocolOptions } from "../protocol/options.ts";

/** Compresses the bodies of requests, and decompresses those of responses when they are read. */
export function compressExchange(exchange: Exchange, options: ClientProtocolOptions): Exchange {
  const { compressions, sendCompression } = options;
  const accepted = compressions.length === 0 ? [] : ["accept-encoding", encodingList(compressions, ", ")];

  /** Compresses a request (spec: Payload of sub-protocol A). It changes the headers, which only this request uses. */
  async function compress(request: HttpRequest): Promise<HttpRequest> {
    const { body, headers } = request;
    const compressed = body.whole && (await compressMessage(body.whole, sendCompression, options));
    if (compressed === undefined || sendCompression === undefined) return request;
    headers.append("content-encoding", sendCompression.name);
    return { ...request, body: new WholeBody(compressed) };
  }

  function inflating({ headers, body }: HttpResponse): Body {
    const encoding = headers.get("content-encoding")?.toLowerCase() ?? IDENTITY;
    if (encoding === IDENTITY) return body;
    const compression = findCompression(compressions, encoding);
    if (compression === undefined) {
      cancelBody(body);
      throw badResponse(`the server answered with the content encoding ${quote(encoding)}, which is not supported`);
    }
    return {
      bytes: async (maxMessageBytes) =>
        decompressMessage(await body.bytes(maxMessageBytes), compression, { maxMessageBytes }, badResponse),
      // Only `bytes` is used to read the body. Iteration serves to cancel it.
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
