/** Node's fast conversion of Latin-1 bytes to a string. */
import type { Latin1Decoder } from "../../wire/fields.ts";

const { latin1Slice } = Buffer.prototype as Buffer & { latin1Slice(start: number, end: number): string };

export const nodeLatin1: Latin1Decoder = (bytes, start, end) => latin1Slice.call(bytes as Buffer, start, end);
