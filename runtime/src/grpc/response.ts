/** Responses of sub-protocol B, as both framings receive them: over HTTP/2 and as gRPC-Web. */
import type { CallContext } from "../call/call.ts";
import { Code, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import type { Metadata } from "../call/metadata.ts";
import type { Body } from "../http/body.ts";
import type { HttpResponse } from "../http/exchange.ts";
import { localError } from "../protocol/error.ts";
import { type MessageReading, ReceivedMessages } from "./messages.ts";
import { readEnd, statusIfReceived, userMetadata } from "./status.ts";

/** Settings for reading the messages of a response. */
export interface ResponseReading extends Pick<MessageReading, "inflate" | "options" | "decode"> {
  readonly context: CallContext;
  /** Receives the user's trailers after the last message. */
  readonly trailers: Metadata;
}

/** Reads the messages of a response and then its status. An error of the server takes precedence over a failed body. */
export function receiveMessages(
  response: HttpResponse,
  body: Body,
  { inflate, options, decode, context, trailers }: ResponseReading,
): ReceivedMessages {
  const headers = userMetadata(response.headers);
  let hasBody = false;
  return new ReceivedMessages(body, {
    context,
    inflate,
    options,
    decode(bytes) {
      hasBody = true;
      return decode(bytes);
    },
    failed: (reason) => statusIfReceived(response, headers) ?? failure(reason, response, context),
    ended() {
      const error = readEnd(response, headers, hasBody);
      if (error !== undefined) throw error;
      trailers.appendAll(userMetadata(response.trailers));
    },
  });
}

/** Adds a status to an error of this side. One that the server has sent keeps its own. */
export function failure(reason: unknown, response: HttpResponse | undefined, { timeoutMs }: CallContext): RpcError {
  const error = localError(reason, response === undefined ? Status.ClientError : Status.BadResponse);
  // A server that enforces the deadline resets the stream with CANCEL, which may arrive before this side's timer fires.
  if (error.code !== Code.Canceled || timeoutMs() !== 0) return error;
  return localError(new RpcError(Code.DeadlineExceeded, "the deadline has passed", { cause: error }));
}
