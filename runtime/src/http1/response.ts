/** The head of a response: its status line, its fields and what they say about the message (RFC 9112, sections 4 to 6). */
import { MessageError, malformed } from "./error.ts";
import { CHUNKED, Framing, UNTIL_CLOSE } from "./framing.ts";
import type { HeadSyntax } from "./head.ts";
import { Bit, consistsOf } from "./syntax.ts";

/** The head of a response. Responses with equal heads share it. */
export interface ResponseHead {
  readonly status: number;
  /** Names in lower case and values, in turn. */
  readonly fields: readonly string[];
  /** The length of the body of a response to another method than HEAD, or `CHUNKED`, or `UNTIL_CLOSE`. */
  readonly length: number;
  /** True if the server ends the connection after the response. */
  readonly closes: boolean;
  /** Time without requests after which the server ends the connection, in seconds; `undefined` if it does not say so. */
  readonly idleSeconds: number | undefined;
}

export interface StatusLine {
  readonly minor: number;
  readonly status: number;
}

const START = "HTTP/";

/** The first byte of a record of TLS: one of its content types (RFC 8446, section 5.1). */
const TLS_TYPES = { first: 20, last: 23 } as const;

function checkStart(chunk: Uint8Array, at: number, held: number): void {
  for (let i = held; i < START.length && at + i - held < chunk.length; i++) {
    const byte = chunk[at + i - held] as number;
    if (byte === START.charCodeAt(i)) continue;
    const isTls = i === 0 && byte >= TLS_TYPES.first && byte <= TLS_TYPES.last;
    throw new MessageError(505, isTls ? "the server speaks TLS (try https://)" : "the response is not HTTP/1.1");
  }
}

// status-line = HTTP-version SP status-code SP [ reason-phrase ] CRLF    (RFC 9112, section 4)
// The space before an empty reason phrase may be missing.
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5][0-9]{2})(?: ([^\r\n]*))?\r\n$/;

function parseLine(line: string): StatusLine {
  const [, minor, status, reason = ""] = STATUS_LINE.exec(line) ?? [];
  if (minor === undefined || !consistsOf(reason, Bit.Value)) throw malformed("the status line is invalid");
  return { minor: Number(minor), status: Number(status) };
}

// Keep-Alive = timeout=delta-seconds    (not in an RFC; servers such as those of Node and Apache send it)
const IDLE_SECONDS = /\btimeout=([0-9]{1,9})/i;

function createHead({ minor, status }: StatusLine, fields: string[]): ResponseHead {
  const framing = new Framing();
  let idleSeconds: number | undefined;
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string;
    const value = fields[i + 1] as string;
    const seconds = name === "keep-alive" ? IDLE_SECONDS.exec(value)?.[1] : undefined;
    if (seconds !== undefined) idleSeconds = Number(seconds);
    framing.read(name, value);
  }
  const { length = UNTIL_CLOSE } = framing;
  // A proxy may have framed such messages in another way (RFC 9112, section 6.1; RFC 9110, section 15.2).
  if (minor === 0 && (length === CHUNKED || status < 200)) {
    throw malformed("HTTP/1.0 has neither the header transfer-encoding nor interim responses");
  }
  const hasNoBody = status < 200 || status === 204 || status === 304;
  return { status, fields, length: hasNoBody ? 0 : length, closes: framing.closes || minor === 0, idleSeconds };
}

export const RESPONSE_SYNTAX: HeadSyntax<StatusLine, ResponseHead> = { checkStart, parseLine, createHead };
