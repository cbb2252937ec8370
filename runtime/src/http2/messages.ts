/**
 * Validation of header blocks as requests, responses or trailers (RFC 9113, section 8). An invalid block is malformed,
 * which is a stream error (section 8.1.1).
 */
import type { FieldRules, FieldSink } from "./hpack/decoder.ts";

/** The header block of a message. It is immutable, because several messages may share it. */
export interface HeaderBlock {
  readonly kind: BlockKind;
  /** Names and values in turn, without pseudo-header fields, and with cookies in one field unless the block is too large. */
  readonly fields: readonly string[];
  /** Pseudo-header fields of a request; `""` in other blocks. A CONNECT without `protocol` has neither path nor scheme. */
  readonly method: string;
  readonly path: string;
  readonly authority: string;
  readonly scheme: string;
  /** The protocol that a CONNECT begins on its stream (RFC 8441, section 4). */
  readonly protocol: string;
  /** Status of a response; 0 in other blocks. */
  readonly status: number;
  /** The content-length; -1 if it is absent. */
  readonly contentLength: number;
  /** The lengths of all names and values plus 32 per field, before cookies were joined (RFC 9113, section 10.5.1). */
  readonly size: number;
  /** False if `host` and `:authority` differ, which can bypass checks of the host (RFC 9113, section 8.3.1). */
  readonly hasOneHost: boolean;
  /** The result that the receiver keeps for the block, which many requests may share. */
  result: unknown;
}

/** Kinds of header blocks. */
export const BlockKind = {
  Request: 0,
  Response: 1,
  Trailers: 2,
  /** The block of a message that is discarded. */
  Ignored: 3,
} as const;
export type BlockKind = (typeof BlockKind)[keyof typeof BlockKind];

const Kind = {
  Plain: 0,
  Method: 1,
  Path: 2,
  Authority: 3,
  Scheme: 4,
  Protocol: 5,
  Status: 6,
  ContentLength: 7,
  Cookie: 8,
  Host: 9,
  Te: 10,
  Malformed: 11,
  /** A field like `Plain` with a space or tab at an end of its value. */
  Padded: 12,
} as const;

const NAME_KINDS: ReadonlyMap<string, number> = new Map([
  [":method", Kind.Method],
  [":path", Kind.Path],
  [":authority", Kind.Authority],
  [":scheme", Kind.Scheme],
  [":protocol", Kind.Protocol],
  [":status", Kind.Status],
  ["content-length", Kind.ContentLength],
  ["cookie", Kind.Cookie],
  ["host", Kind.Host],
  ["te", Kind.Te],
  // Connection-specific fields, which must not be part of a message (RFC 9113, section 8.2.2).
  ["connection", Kind.Malformed],
  ["proxy-connection", Kind.Malformed],
  ["keep-alive", Kind.Malformed],
  ["transfer-encoding", Kind.Malformed],
  ["upgrade", Kind.Malformed],
]);

// Visible ASCII without capital letters. The colon is reserved for pseudo-header fields (RFC 9113, section 8.2.1).
const FIELD_NAME = /^[!-9;-@[-~]+$/;
const METHOD = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*$/;
// Codes above 599 are invalid, and treated like 5xx (RFC 9110, section 15).
const STATUS = /^[1-9][0-9][0-9]$/;
// No spaces, control characters or characters outside ASCII.
const REQUEST_PATH = /^(?:\/[!-~]*|\*)$/;
// No userinfo (RFC 9113, section 8.3.1).
const AUTHORITY = /^[!-?A-~]*$/;
const DIGITS = /^[0-9]{1,16}$/;

/** Returns the kind of a value: malformed if it has control characters other than tab, or characters that are not bytes. */
function kindOfValue(value: string): number {
  const { length } = value;
  if (length === 0) return Kind.Plain;
  for (let i = 0; i < length; i++) {
    const character = value.charCodeAt(i);
    if (character < 0x20 ? character !== 0x09 : character === 0x7f || character > 0xff) return Kind.Malformed;
  }
  return isPadding(value.charCodeAt(0)) || isPadding(value.charCodeAt(length - 1)) ? Kind.Padded : Kind.Plain;
}

function isPadding(character: number): boolean {
  return character === 0x20 || character === 0x09;
}

/** Removes spaces and tabs around a value. An expression would be quadratic for spaces inside of the value. */
function withoutPadding(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isPadding(value.charCodeAt(start))) start++;
  while (end > start && isPadding(value.charCodeAt(end - 1))) end--;
  return value.slice(start, end);
}

/** Converts a host to lower case and removes the default port of the scheme (RFC 3986, sections 6.2.2.1 and 6.2.3). */
function normalizeHost(host: string, scheme: string): string {
  return host.toLowerCase().replace(scheme === "https" ? /:(?:443)?$/ : /:(?:80)?$/, "");
}

/** The rules of RFC 9113, sections 8.2 and 8.3, for single fields. */
export const MESSAGE_RULES: FieldRules = {
  nameKind: (name) => NAME_KINDS.get(name) ?? (FIELD_NAME.test(name) ? Kind.Plain : Kind.Malformed),
  fieldKind(nameKind, value) {
    switch (nameKind) {
      case Kind.Plain:
        return kindOfValue(value);
      case Kind.Cookie:
      case Kind.Host:
        return kindOfValue(value) === Kind.Plain ? nameKind : Kind.Malformed;
      case Kind.Method:
      case Kind.Protocol:
        return METHOD.test(value) ? nameKind : Kind.Malformed;
      case Kind.Path:
        return REQUEST_PATH.test(value) ? nameKind : Kind.Malformed;
      case Kind.Authority:
        return AUTHORITY.test(value) ? nameKind : Kind.Malformed;
      case Kind.Scheme:
        return SCHEME.test(value) ? nameKind : Kind.Malformed;
      case Kind.Status:
        return STATUS.test(value) ? nameKind : Kind.Malformed;
      case Kind.ContentLength:
        return DIGITS.test(value) && Number(value) <= Number.MAX_SAFE_INTEGER ? nameKind : Kind.Malformed;
      case Kind.Te:
        return value === "trailers" ? Kind.Plain : Kind.Malformed;
      default:
        return Kind.Malformed;
    }
  },
};

/** Throws a `TypeError` for regular fields that must not be sent. */
export function checkOutgoing(fields: readonly string[]): void {
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string;
    const nameKind = MESSAGE_RULES.nameKind(name);
    const isPseudo = nameKind >= Kind.Method && nameKind <= Kind.Status;
    // Fields of the HTTP/1.1 upgrade (RFC 7540, section 3.2.1) are connection-specific too.
    if (
      isPseudo ||
      name === "http2-settings" ||
      MESSAGE_RULES.fieldKind(nameKind, fields[i + 1] as string) >= Kind.Malformed
    ) {
      throw new TypeError(`the field ${JSON.stringify(name)} cannot be sent over HTTP/2, or not with this value`);
    }
  }
}

/** Throws a `TypeError` for a request line that must not be sent. */
export function checkRequestLine(method: string, path: string): void {
  if (!METHOD.test(method)) throw new TypeError(`the method ${JSON.stringify(method)} is not a token`);
  if (!REQUEST_PATH.test(path))
    throw new TypeError(`the path ${JSON.stringify(path)} must start with "/" and be visible ASCII`);
}

const NO_COOKIES: string[] = [];
/** Cookies of larger blocks are not joined. */
const MAX_COOKIE_BYTES: number = 16 * 1024;

/** Makes a header block of decoded fields: it is the block itself. */
export class BlockBuilder implements FieldSink, HeaderBlock {
  /** The problem of the block, if it is malformed. */
  problem: string | undefined;
  readonly kind: BlockKind;
  readonly fields: string[] = [];
  method = "";
  path = "";
  authority = "";
  scheme = "";
  protocol = "";
  status = 0;
  contentLength = -1;
  size = 0;
  hasOneHost = true;
  result: unknown;
  #cookies: string[] = NO_COOKIES;
  /** The kinds of the pseudo-header fields that have occurred, as bits. */
  #pseudo = 0;
  #host: string | undefined;

  constructor(kind: BlockKind) {
    this.kind = kind;
  }

  onField(name: string, value: string, kind: number): void {
    if (kind === Kind.Plain) this.fields.push(name, value);
    else if (kind <= Kind.Status) this.#onPseudo(name, value, kind);
    else if (kind === Kind.ContentLength) this.#onContentLength(name, value);
    else if (kind === Kind.Cookie) {
      if (this.#cookies.length === 0) this.#cookies = [value];
      else this.#cookies.push(value);
    } else if (kind === Kind.Host) {
      if (this.#host !== undefined) this.problem ??= "host occurs twice";
      this.#host = value;
      this.fields.push(name, value);
    } else if (kind === Kind.Padded) this.#onPadded(name, value);
    else this.problem ??= "a field is invalid";
  }

  /**
   * RFC 9113, section 8.2.1, forbids spaces at the ends of a value. gRPC allows them, and its clients and servers send them: they
   * are part of `grpc-message`, and may be removed from metadata (gRPC over HTTP/2: Responses, Custom-Metadata).
   */
  #onPadded(name: string, value: string): void {
    this.fields.push(name, name === "grpc-message" ? value : withoutPadding(value));
  }

  #onPseudo(name: string, value: string, kind: number): void {
    if (this.fields.length > 0 || this.#cookies.length > 0) this.problem ??= `${name} follows other fields`;
    const isResponse = kind === Kind.Status;
    if (this.kind !== (isResponse ? BlockKind.Response : BlockKind.Request)) {
      this.problem ??= `${name} is not allowed here`;
    }
    // A set of kinds, because the value of :authority may be empty.
    if (this.#pseudo & (1 << kind)) this.problem ??= `${name} occurs twice`;
    this.#pseudo |= 1 << kind;
    if (kind === Kind.Method) this.method = value;
    else if (kind === Kind.Path) this.path = value;
    else if (kind === Kind.Scheme) this.scheme = value;
    else if (kind === Kind.Protocol) this.protocol = value;
    else if (kind === Kind.Status) this.status = Number(value);
    else this.authority = value;
  }

  #onContentLength(name: string, value: string): void {
    const length = Number(value);
    if (this.contentLength >= 0 && this.contentLength !== length)
      this.problem ??= "content-length has two different values";
    this.contentLength = length;
    this.fields.push(name, value);
  }

  /** Returns the block of all fields. It is malformed if there is a {@link problem}. */
  finish(size: number): HeaderBlock {
    if (this.kind === BlockKind.Request) this.#checkRequest();
    else if (this.kind === BlockKind.Response) this.#checkResponse();
    this.#finishCookies(size);
    this.size = size;
    this.hasOneHost = this.#compareHosts();
    return this;
  }

  #compareHosts(): boolean {
    const host = this.#host;
    const { authority, scheme } = this;
    if (host === undefined || authority === "" || host === authority) return true;
    return normalizeHost(host, scheme) === normalizeHost(authority, scheme);
  }

  /** Joins cookies, which may be in fields of their own, with semicolons (RFC 9113, section 8.2.3). */
  #finishCookies(size: number): void {
    if (this.#cookies.length === 0) return;
    // Cookies of large blocks stay separate: the limit on the number of fields then counts each of them, and thousands
    // cannot pass as one.
    if (size <= MAX_COOKIE_BYTES) this.fields.push("cookie", this.#cookies.join("; "));
    else for (const cookie of this.#cookies) this.fields.push("cookie", cookie);
    this.#cookies = NO_COOKIES;
  }

  #checkRequest(): void {
    const { problem } = this;
    if (problem !== undefined) return;
    if (this.method === "") this.problem = "a request must have :method";
    else if (this.protocol !== "" && this.method !== "CONNECT") this.problem = ":protocol is for CONNECT";
    else if (this.method === "CONNECT" && this.protocol === "") {
      // RFC 9113, section 8.5
      if (this.scheme !== "" || this.path !== "") this.problem = "CONNECT must have neither :scheme nor :path";
      else if (this.authority === "") this.problem = "CONNECT must have :authority";
    } else if (this.scheme === "" || this.path === "") this.problem = "a request must have :scheme and :path";
    else if (this.path === "*" && this.method !== "OPTIONS") this.problem = "the path * is allowed for OPTIONS only";
  }

  #checkResponse(): void {
    if (this.problem !== undefined) return;
    if (this.status === 0) this.problem = "a response must have :status";
    // RFC 9113, section 8.6
    else if (this.status === 101) this.problem = "HTTP/2 has no status 101";
  }
}
