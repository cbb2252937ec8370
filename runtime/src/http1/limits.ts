/** Limits of an HTTP/1.1 connection. Those of heads and times belong to its owner. */

/** Limits of a server's connection. Times are in milliseconds. */
export interface Http1Limits {
  /** Bytes of the request line and the fields together. Beyond it a request is answered with 431. */
  readonly headBytes: number;
  /** Time for a whole head, and on a new connection until its first byte. */
  readonly headMs: number;
  /** Time for a whole request. */
  readonly requestMs: number;
  /** Time between two requests. */
  readonly idleMs: number;
}

/** The longest method. Longer ones are not known to any protocol. */
export const MAX_METHOD_LENGTH = 32;
/** Empty lines before a request line, which a server should ignore (RFC 9112, section 2.2). */
export const MAX_EMPTY_LINES = 4;
/** The largest head that is kept to compare the next one with it. */
export const MAX_MEMO_BYTES = 1024;
/** Digits of a content-length or of the size of a chunk, zeros included. */
export const MAX_DIGITS = 16;
/** Bytes of the extensions of a chunk, and of a whole body (RFC 9112, section 7.1.1; CVE-2023-39326, CVE-2024-22019). */
export const MAX_CHUNK_EXTENSION_BYTES = 256;
export const MAX_EXTENSION_BYTES: number = 16 * 1024;
/** Bytes and number of the trailer fields of a body, which are validated and dropped. */
export const MAX_TRAILER_SECTION_BYTES: number = 4 * 1024;
export const MAX_TRAILER_FIELDS = 32;
/** Bytes of a message that have been received and not read, beyond which its owner should stop reading the socket. */
export const MAX_UNREAD_BODY_BYTES: number = 64 * 1024;
/** Bytes of a message that have not been taken, beyond which its sender should wait. */
export const MAX_UNSENT_BODY_BYTES: number = 64 * 1024;
/** Largest rest of a request that is dropped after an early response to keep the connection. */
export const MAX_DROPPED_BYTES: number = 64 * 1024 * 1024;
/** Interim responses (1xx) to a request. */
export const MAX_INTERIM_HEADS = 10;
