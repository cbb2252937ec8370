/**
 * Sub-protocol A, client half, with compression, limits and server streams.
 */
import { commit, type RequestContext } from "../call/attempt.ts";
import type { RpcError } from "../call/error.ts";
import type { ProtoMethod } from "../call/method.ts";
import type { Codec } from "../codec/codec.ts";
import { countOf } from "../codec/values/values.ts";
import type { Exchange } from "../http/exchange.ts";
import { limitHeaders } from "../protocol/header-limits.ts";
import type { HttpRpcPayload } from "../protocol/payload.ts";
import type { ClientProtocol } from "../protocol/protocol.ts";
import { codecPayload } from "./arguments.ts";
import { compressExchange } from "./compressed-exchange.ts";
import { withEvents } from "./event-client.ts";
import { acceptExchange, createUnaryCall } from "./unary-client.ts";

/** Creates the client half of sub-protocol A, with the compressions of the options and limits on decoded responses. */
export const createHttpRpcClient: ClientProtocol = (exchange, options) => {
  const payloadOf = (codec: Codec, accept?: Codec): HttpRpcPayload => ({
    ...codecPayload(codec, accept),
    decodeResponse: (method, bytes) => {
      const { output, codecs } = method as ProtoMethod;
      return (accept ?? codec).decode(output, bytes, codecs?.output, countOf(bytes, options.maxMessageValues));
    },
  });
  const { codec, accept } = options;
  const limited = limitHeaders(exchange, options.headerLimits);
  const compressing = committing(compressExchange(limited, options));
  const unary = createUnaryCall(acceptExchange(compressing, accept), payloadOf(codec, accept), options);
  // Streams are not decompressed, so no coding is offered for events.
  const eventExchange = committing(compressExchange(limited, { ...options, compressions: [] }));
  const call = withEvents(unary, eventExchange, codec, payloadOf, options);
  return (request) =>
    call(request).catch((reason: RpcError) => {
      (request.context as RequestContext).onCode?.(reason.code);
      throw reason;
    });
};

/** Commits the attempt when its response begins. Not in `createUnaryCall`, which pages load. */
function committing(exchange: Exchange): Exchange {
  return async (request) => {
    const response = await exchange(request);
    if (response.status === 200 && request.context !== undefined) commit(request.context);
    return response;
  };
}
