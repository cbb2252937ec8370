/**
 * Base64 (RFC 4648, section 4) of short values such as binary metadata. Browsers load this module, so it is optimized for
 * code size, not for speed.
 */
/** Matches base64 in the standard alphabet, with or without padding. */
export const BASE64: RegExp = /^([a-z0-9+/]{4})*([a-z0-9+/]{2}(==)?|[a-z0-9+/]{3}=?)?$/i;

/** Encodes bytes in the standard alphabet, without padding. */
export function encodeBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replace(/==?$/, "");
}

/** Decodes standard or URL-safe base64, with or without padding. Throws a `DOMException` for other text. */
export function decodeBase64(text: string): Uint8Array {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
