/**
 * Errors of messages, with the status and text of the response to an invalid request. After one of them the start of the next
 * message is not known, so the connection ends.
 */
import { MAX_TRAILER_FIELDS, MAX_TRAILER_SECTION_BYTES } from "./limits.ts";

/** An invalid message. The engine never throws it to its user. */
export class MessageError extends Error {
  /** The status code of the response. */
  readonly status: number;
  /** Additional fields of the response: names and values in turn. */
  readonly fields: readonly string[];
  constructor(status: number, message: string, fields: readonly string[] = []) {
    super(message);
    this.status = status;
    this.fields = fields;
  }
}

export function malformed(message = "the request is not HTTP/1.1"): MessageError {
  return new MessageError(400, message);
}

export function headTooLarge(): MessageError {
  return new MessageError(431, "the headers of the request are too large (option headerLimits of the receiver)");
}

export function trailersTooLarge(): MessageError {
  const limit = `${MAX_TRAILER_FIELDS} fields and ${MAX_TRAILER_SECTION_BYTES} bytes`;
  return malformed(`the trailers are larger than the limit of ${limit}`);
}
