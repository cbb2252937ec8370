/**
 * Decompression of received messages of sub-protocol B. gRPC-Web in pages does not decompress, so pages do not load
 * this module.
 */
import type { Compression } from "../codec/compression.ts";
import { decompressMessage } from "../protocol/message.ts";
import type { ProtocolOptions } from "../protocol/options.ts";
import { internalError, unnamedCompression } from "./messages.ts";

/** Decompresses a message that is marked as compressed. Throws `internal` if the headers name no compression. */
export function inflate(
  data: Uint8Array,
  compression: Compression | undefined,
  options: Pick<ProtocolOptions, "maxMessageBytes">,
): Promise<Uint8Array> {
  if (compression === undefined) throw unnamedCompression();
  return decompressMessage(data, compression, options, internalError);
}
