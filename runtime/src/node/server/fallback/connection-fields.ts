/**
 * Header fields of one connection. HTTP/2 does not allow them (RFC 9113, section 8.2.2), and `node:http` writes them itself.
 */
const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/** Reports whether a field with the name, in lower case, belongs to the message and not to its connection. */
export const isEndToEnd = (name: string): boolean => !CONNECTION_FIELDS.has(name);
