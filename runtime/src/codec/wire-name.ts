/**
 * Names of codecs and compressions on the wire. A name that no header can carry is refused where it is given: its codec or
 * compression could never be chosen.
 */

// token = 1*tchar (RFC 9110, section 5.6.2); lower case, because media types and content codings are compared in lower case
const WIRE_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

/** Throws a `TypeError` for a name that is not a token in lower case, is given twice, or has a meaning of its own. */
export function checkWireNames(
  option: string,
  named: readonly { readonly name: string }[],
  reserved: readonly string[] = [],
): void {
  const names = new Set<string>();
  for (const { name } of named) {
    if (typeof name !== "string" || !WIRE_NAME.test(name)) {
      throw new TypeError(`${option}: the name ${JSON.stringify(name)} must be a token in lower case, such as "gzip"`);
    }
    if (names.has(name)) throw new TypeError(`${option}: the name "${name}" is given twice`);
    if (reserved.includes(name)) throw new TypeError(`${option}: the name "${name}" is reserved`);
    names.add(name);
  }
}
