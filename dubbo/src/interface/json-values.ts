/**
 * Counts the values of JSON text before it is parsed, which takes far longer: each list and each object as 1, each member
 * of an object as 1/2, and each comma as 1/4.
 */
import { BACKSLASH, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "triple-es/internal";

/** Counts the values. Stops when there are more than `max`. Text that is not JSON may pass: the parser refuses it. */
export function checkJsonValues(bytes: Uint8Array, max: number): number {
  const { length } = bytes;
  const most = Math.ceil(4 * max);
  // Integers, because engines do not optimize a loop well whose counter becomes a fraction.
  let quarters = 0;
  for (let i = 0; i < length && quarters <= most; i += 1) {
    const byte = bytes[i] as number;
    if (byte === QUOTE) i = closingQuote(bytes, i);
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) quarters += 4;
    else if (byte === COLON) quarters += 2;
    else if (byte === COMMA) quarters += 1;
  }
  return quarters / 4;
}

/** The position of the closing quote of a string, or the end of the text. */
function closingQuote(bytes: Uint8Array, start: number): number {
  const { length } = bytes;
  let i = start + 1;
  while (i < length && bytes[i] !== QUOTE) i += bytes[i] === BACKSLASH ? 2 : 1;
  return i;
}
