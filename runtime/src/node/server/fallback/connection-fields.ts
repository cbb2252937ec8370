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

/** Returns a flat list of fields without those of the connection. Names are converted to lower case. */
export function withoutConnectionFields(raw: readonly string[]): string[] {
  const fields: string[] = [];
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase();
    if (!CONNECTION_FIELDS.has(name)) fields.push(name, raw[i + 1] as string);
  }
  return fields;
}
