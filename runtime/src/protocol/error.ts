/**
 * Errors that both sub-protocols report, and the length of texts in them.
 */
import type { Method } from "../call/call.ts";
import { Code, Status } from "../call/code.ts";
import { RpcError, reasonOf } from "../call/error.ts";

/** Longest text of an error that travels. Headers have limits, and more than this nobody reads. */
const MAX_ERROR_TEXT = 4096;

/** A text cut at a number of characters: an error must not send back at length what a peer sent. */
export function clipText(text: string, length: number = MAX_ERROR_TEXT): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}

/** Longest part of a peer's text that an error quotes, in characters. */
const MAX_QUOTED_TEXT = 100;

/** A peer's text in quotation marks, as much of it as it takes to recognize it. */
export function quote(text: string): string {
  return `"${clipText(text, MAX_QUOTED_TEXT)}"`;
}

/** Longest reason of a decoding error that travels, in characters: codecs quote what they could not decode. */
const MAX_REASON_TEXT = 300;

/** The reason why bytes of a peer cannot be decoded, as the peer may read it. */
export function decodingReason(cause: unknown): string {
  return clipText(reasonOf(cause), MAX_REASON_TEXT);
}

/** Longest part of a path that an error shows, in characters. */
const MAX_SHOWN_PATH = 200;

/** The error of a path that no handler is behind. It tells the form of paths, but not which ones there are. */
export function notFound(path: string): RpcError {
  return new RpcError(
    Code.Unimplemented,
    `no method is served at ${clipText(path, MAX_SHOWN_PATH)}; paths are /package.Service/Method with exactly those capitals, and version and group have to match`,
    { status: Status.ServiceNotFound },
  );
}

/** The error of a server's interceptor that does not answer as the kind of the method wants it. */
export function wrongResponseKind({ path, kind }: Method): TypeError {
  return new TypeError(
    `an interceptor of ${path} must return the response of next(request), or one for a ${kind} call`,
  );
}
