/**
 * Content negotiation on the client's side of sub-protocol A: an exchange that requests a codec for responses with
 * `accept` and wraps another exchange.
 */
import type { Codec } from "../codec/codec.ts";
import type { Exchange } from "../http/exchange.ts";

/** Adds `accept` to requests whose caller did not set it. Without a codec, the exchange is returned unchanged. */
export function acceptExchange(exchange: Exchange, codec: Codec | undefined): Exchange {
  if (codec === undefined) return exchange;
  return (request) => {
    // The headers object is used by this request only, so it can be changed.
    if (!request.headers.has("accept")) request.headers.append("accept", `application/${codec.name}`);
    return exchange(request);
  };
}
