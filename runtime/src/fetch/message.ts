/** Conversion of the headers and bodies of `Request` and `Response` to the metadata and bodies of an exchange. */
import { Code } from "../call/code.ts";
import { abortError, RpcError, reasonOf } from "../call/error.ts";
import { Metadata } from "../call/metadata.ts";
import { type Body, emptyBody, readChunks, streamBody } from "../http/body.ts";

export function readHeaders(headers: Headers): Metadata {
  return Metadata.fromRaw([...headers].flat());
}

/**
 * Adapts a stream of a request, the `owner`, whose signal has the reason if the body ends early. `lost` returns the message of the
 * error for a stream that fails; the message may be sent to a peer.
 */
export function readBody(
  stream: ReadableStream<Uint8Array> | null,
  owner: { readonly signal: AbortSignal | undefined },
  lost: (reason: string) => string,
): Body {
  if (stream === null) return emptyBody;
  const toError = (cause: unknown): RpcError =>
    owner.signal?.aborted ? abortError(owner.signal) : new RpcError(Code.Unavailable, lost(reasonOf(cause)), { cause });
  return streamBody(readChunks(stream, toError));
}
