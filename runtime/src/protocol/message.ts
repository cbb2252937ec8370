/** Compression of single messages. */
import { Code, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { plainBytes } from "../codec/codec.ts";
import type { Compression } from "../codec/compression.ts";
import type { ProtocolOptions } from "./options.ts";

/** Compresses a message to send. Returns `undefined` if the message is to be sent uncompressed. */
export function compressMessage(
  bytes: Uint8Array,
  compression: Compression | undefined,
  options: Pick<ProtocolOptions, "compressMinBytes">,
): Uint8Array | Promise<Uint8Array> | undefined {
  if (compression === undefined || bytes.length < options.compressMinBytes) return undefined;
  return compression.compress(bytes);
}

/**
 * Decompresses a received message. Rejects with `resource_exhausted` if the result exceeds `maxMessageBytes`, and with the
 * error that `onBadData` creates for bytes that cannot be decompressed.
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
      `message of ${bytes.length} bytes inflates to more than the limit of ${maxMessageBytes} bytes (option maxMessageBytes of the receiver)`,
      { status: Status.BadRequest, cause },
    );
  }
}
