/**
 * Compression of single messages.
 */
import { Code, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { plainBytes } from "../codec/codec.ts";
import type { Compression } from "../codec/compression.ts";
import type { ProtocolOptions } from "./options.ts";

/** Compresses a message for sending. Returns `undefined` if it should be sent uncompressed. */
export function compressMessage(
  bytes: Uint8Array,
  compression: Compression | undefined,
  options: Pick<ProtocolOptions, "compressMinBytes">,
): Uint8Array | Promise<Uint8Array> | undefined {
  if (compression === undefined || bytes.byteLength < options.compressMinBytes) return undefined;
  return compression.compress(bytes);
}

/**
 * Inflates a received message, up to the limit. `onBadData` makes the error for bytes that the compression cannot read.
 */
export async function decompressMessage(
  bytes: Uint8Array,
  compression: Compression,
  options: Pick<ProtocolOptions, "maxMessageBytes">,
  onBadData: (message: string, cause: unknown) => RpcError,
): Promise<Uint8Array> {
  const { maxMessageBytes } = options;
  try {
    return plainBytes(await compression.decompress(bytes, maxMessageBytes));
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw onBadData(`message is not ${compression.name} data`, cause);
    throw new RpcError(
      Code.ResourceExhausted,
      `message of ${bytes.byteLength} bytes inflates to more than the limit of ${maxMessageBytes} bytes (option maxMessageBytes of the receiver)`,
      { status: Status.BadRequest, cause },
    );
  }
}
