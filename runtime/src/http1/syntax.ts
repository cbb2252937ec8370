/** The characters of HTTP/1.1 messages (RFC 9110, section 5.6; RFC 9112, sections 2 to 5), as a table of bits. */

export const Bit = {
  /** A character of a token, such as a method and the name of a field (RFC 9110, section 5.6.2). */
  Token: 1,
  Capital: 2,
  /** A character of a field value: no control character but HTAB (RFC 9110, section 5.5). */
  Value: 4,
  /** A character of a request target: visible ASCII but `#`, which begins no part of one (RFC 9112, section 3.2). */
  Target: 8,
  /** A character of a host with a port, or of a list of them (RFC 3986, section 3.2.2). */
  Host: 16,
} as const;

export const Character = {
  Tab: 0x09,
  Lf: 0x0a,
  Cr: 0x0d,
  Space: 0x20,
  Quote: 0x22,
  Colon: 0x3a,
  Semicolon: 0x3b,
  Equals: 0x3d,
  Backslash: 0x5c,
} as const;

/** The bits of each byte. */
export const BITS: Uint8Array = createTable();

function createTable(): Uint8Array {
  const table = new Uint8Array(256);
  table[Character.Tab] = Bit.Value;
  for (let code: number = Character.Space; code < 256; code++) {
    const character = String.fromCharCode(code);
    const isVisible = code > Character.Space && code < 0x7f;
    let bits: number = code === 0x7f ? 0 : Bit.Value;
    if (isVisible && !'"(),/:;<=>?@[\\]{}'.includes(character)) bits |= Bit.Token;
    if (character >= "A" && character <= "Z") bits |= Bit.Capital;
    if (isVisible && character !== "#") bits |= Bit.Target;
    if (isVisible && !'"#/<>?@\\^`{|}'.includes(character)) bits |= Bit.Host;
    table[code] = bits;
  }
  return table;
}

/** Reports whether all characters of a text have one of the bits. */
export function consistsOf(text: string, bits: number): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0xff || ((BITS[code] as number) & bits) === 0) return false;
  }
  return true;
}
