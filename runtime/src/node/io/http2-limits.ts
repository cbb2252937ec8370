/**
 * Flow control windows and header limits that both sides of HTTP/2 on `node:http2` are configured with.
 */

/** Bytes the peer may send before they are read (RFC 9113, section 5.2): on one stream, and on one connection. */
export const STREAM_WINDOW_BYTES: number = 256 * 1024;
export const CONNECTION_WINDOW_BYTES: number = 4 * 1024 * 1024;

/** Fields of a header block beyond which Node resets the stream: more than fit into the 64 KiB that a block may have. */
export const MAX_HTTP2_FIELDS = 2_000;
