/**
 * Requests another codec for responses with `accept`, on the client's side of sub-protocol A: an exchange that wraps an
 * exchange.
 */
import type { Codec } from "../codec/codec.ts";
import type { Exchange } from "../http/exchange.ts";

/** Adds `accept` to requests whose caller did not set it. Without a codec the exchange is returned unchanged. */
export function acceptExchange(exchange: Exchange, codec: Codec | undefined): Exchange {
  if (codec === undefined) return exchange;
  return (request) => {
    // The headers belong to this request alone.
    if (!request.headers.has("accept")) request.headers.append("accept", `application/${codec.name}`);
    return exchange(request);
  };
}
