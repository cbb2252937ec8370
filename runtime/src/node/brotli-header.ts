/**
 * The header of a brotli stream (RFC 7932, sections 9.1 and 9.2): the window and the size of the first meta-block.
 *
 *     WBITS      1..7 bits   0 → 16; else 3 bits, and 3 more if they are 0
 *     ISLAST     1 bit       ISLASTEMPTY 1 bit, only if ISLAST
 *     MNIBBLES   2 bits      3 → metadata, otherwise 4 + MNIBBLES nibbles follow
 *     MLEN - 1   16, 20 or 24 bits
 */

/**
 * Returns the number of bytes to which a stream decompresses; `undefined` if the stream has more than one meta-block, so that
 * its header does not contain the number. The result for an invalid stream is arbitrary: the decoder rejects the stream
 * before it decodes more.
 */
export function brotliOutputBytes(stream: Uint8Array): number | undefined {
  let position = 0;
  const read = (bits: number): number => {
    let value = 0;
    for (let i = 0; i < bits; i += 1, position += 1) {
      value |= (((stream[position >> 3] ?? 0) >> (position & 7)) & 1) << i;
    }
    return value;
  };
  if (read(1) === 1 && read(3) === 0) read(3);
  if (read(1) === 0) return undefined;
  if (read(1) === 1) return 0;
  const nibbles = read(2);
  return nibbles === 3 ? undefined : read(16 + 4 * nibbles) + 1;
}
