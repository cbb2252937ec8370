/**
 * Header fields on the wire, in both versions of HTTP.
 */

/** Fields to send. */
export interface FieldList {
  /** Names and values, in turn. */
  readonly raw: readonly string[];
  /** True if the list does not change any more, so that its encoding can be kept. */
  readonly frozen: boolean;
}

/** Decodes Latin-1: each byte becomes one character. */
export type Latin1Decoder = (bytes: Uint8Array, start: number, end: number) => string;
