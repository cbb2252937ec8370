/**
 * The fields of an HTTP/1.1 message, as `node:http` passes them on.
 */

/** Converts the field names of HTTP/1.1 to lower case, as metadata requires. */
export function lowerNames(raw: string[]): string[] {
  const fields = new Array<string>(raw.length);
  for (let i = 0; i < raw.length; i += 2) {
    fields[i] = (raw[i] as string).toLowerCase();
    fields[i + 1] = raw[i + 1] as string;
  }
  return fields;
}
