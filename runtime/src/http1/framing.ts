/** The fields that frame a message and that govern its connection (RFC 9112, sections 6 and 9). */
import { MessageError, malformed } from "./error.ts";
import { MAX_DIGITS } from "./limits.ts";

/** Framing of a body whose length is not known: in chunks, or until the end of the connection. */
export const CHUNKED = -1;
export const UNTIL_CLOSE = -2;

/** The framing fields of a message. */
export class Framing {
  /** The length of the body, or {@link CHUNKED}; `undefined` without a field about it. */
  length: number | undefined;
  /** True if the sender ends the connection after the message. */
  closes = false;

  /** Reads one field. Throws a `MessageError` for a framing that others may read in another way. */
  read(name: string, value: string): void {
    switch (name) {
      case "content-length":
        if (this.length !== undefined) throw malformed(ONE_LENGTH);
        this.length = parseLength(value);
        break;
      case "transfer-encoding":
        if (this.length !== undefined) throw malformed(ONE_LENGTH);
        this.length = parseCoding(value);
        break;
      case "connection":
        if (hasClose(value)) this.closes = true;
        break;
    }
  }
}

const ONE_LENGTH = "a message must have one header content-length or transfer-encoding";

// Content-Length = 1*DIGIT    (RFC 9110, section 8.6)
// A list of equal values may be accepted. It is refused, because others refuse it.
function parseLength(value: string): number {
  let length = 0;
  for (let i = 0; i < value.length; i++) {
    const digit = value.charCodeAt(i) - 0x30;
    if (!(digit >= 0 && digit <= 9)) throw malformed("content-length must be a number of bytes");
    length = length * 10 + digit;
  }
  if (value === "") throw malformed("content-length must be a number of bytes");
  if (value.length > MAX_DIGITS || length > Number.MAX_SAFE_INTEGER) {
    throw malformed(`content-length must be at most ${Number.MAX_SAFE_INTEGER}`);
  }
  return length;
}

/** Parses transfer codings: `chunked` is supported (RFC 9112, section 6.1); a list without it last has no end (6.3). */
function parseCoding(value: string): number {
  const coding = value.toLowerCase();
  if (coding === "chunked") return CHUNKED;
  const isList = coding === "" || coding.includes(",");
  if (isList && coding.slice(coding.lastIndexOf(",") + 1).trim() !== "chunked") {
    throw malformed("the last transfer-encoding must be chunked");
  }
  throw new MessageError(501, "the only transfer-encoding that is supported is chunked");
}

// Connection = #connection-option    (RFC 9110, section 7.6.1)
function hasClose(value: string): boolean {
  const list = value.toLowerCase();
  if (!list.includes("close")) return false;
  return list.split(",").some((option) => option.trim() === "close");
}
