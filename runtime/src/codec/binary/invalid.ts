/** The error of values that cannot be encoded, and of bytes that cannot be decoded. */
export function fail(message: string): never {
  throw new Error(message);
}
