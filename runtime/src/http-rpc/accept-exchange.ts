/**
 * The codec of responses on the client's side of sub-protocol A: an exchange around an exchange, which asks for it with
 * `accept`.
 */
import type { Codec } from "../codec/codec.ts";
import type { Exchange } from "../http/exchange.ts";

/** Adds `accept` to requests whose caller did not set it. Without a codec the exchange is returned as it is. */
export function acceptExchange(exchange: Exchange, codec: Codec | undefined): Exchange {
  if (codec === undefined) return exchange;
  return (request) => {
    // The headers are the request's own, made for this call.
    if (!request.headers.has("accept")) request.headers.append("accept", `application/${codec.name}`);
    return exchange(request);
  };
}
