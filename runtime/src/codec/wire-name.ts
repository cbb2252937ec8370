/**
 * Validation of the names of codecs and compressions. An invalid name is rejected in the options, because a header
 * cannot contain it and its codec or compression could never be selected.
 */

// token = 1*tchar (RFC 9110, section 5.6.2); lower case, because media types and content codings are compared in lower case
const WIRE_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

/** Content types with these names, with or without a suffix, are those of sub-protocol B and of gRPC-Web. */
const GRPC_NAME = /^grpc(?:-web(?:-text)?)?(?:\+|$)/;

/** Throws a `TypeError` for a name that {@link checkWireNames} refuses, or that no content type of a codec can have. */
export function checkCodecNames(option: string, codecs: readonly { readonly name: string }[]): void {
  checkWireNames(option, codecs, (name) => GRPC_NAME.test(name));
}

/** Throws a `TypeError` for a name that is not a lower-case token, occurs twice or is reserved. */
export function checkWireNames(
  option: string,
  named: readonly { readonly name: string }[],
  isReserved?: (name: string) => boolean,
): void {
  const names = new Set<string>();
  for (const one of named) {
    const name = one?.name;
    if (typeof name !== "string" || !WIRE_NAME.test(name)) {
      throw new TypeError(`${option}: the name ${JSON.stringify(name)} must be a token in lower case, such as "gzip"`);
    }
    if (names.has(name)) throw new TypeError(`${option}: the name "${name}" is given twice`);
    if (isReserved?.(name)) throw new TypeError(`${option}: the name "${name}" is reserved`);
    names.add(name);
  }
}
