/** Compressions of message bytes, and the negotiation of one. The name of a compression on the wire is its encoding name. */
import { remember } from "../call/remember.ts";
import { parseQualityValues } from "./quality-values.ts";

/**
 * A compression of message bytes. The interface is public and versioned with the package: custom compressions can be
 * registered beside the built-in ones.
 */
export interface Compression {
  /** The encoding's lower-case name on the wire, such as `gzip`. */
  readonly name: string;
  /** Compresses a message. May return `undefined` for a message that is better sent uncompressed. */
  compress(bytes: Uint8Array): Uint8Array | Promise<Uint8Array> | undefined;
  /** Decompresses a message. Must stop, and throw a `RangeError`, before its output exceeds `maxBytes`. */
  decompress(bytes: Uint8Array, maxBytes: number): Uint8Array | Promise<Uint8Array>;
}

/** The encoding name for data that is not compressed. */
export const IDENTITY = "identity";

/** Finds the compression with an encoding name. Returns `undefined` if it is not registered. */
export function findCompression(compressions: readonly Compression[], encoding: string): Compression | undefined {
  return compressions.find((compression) => compression.name === encoding);
}

/**
 * Returns the compression of received data with an encoding name; `undefined` if it has none or is not compressed. Throws the
 * error that `unsupported` returns for a compression that is not registered.
 */
export function compressionOf(
  compressions: readonly Compression[],
  encoding: string | undefined,
  unsupported: (encoding: string) => Error,
): Compression | undefined {
  if (encoding === undefined || encoding === IDENTITY) return undefined;
  const compression = findCompression(compressions, encoding);
  if (compression === undefined) throw unsupported(encoding);
  return compression;
}

/** Lists the encoding names, best first, for `accept-encoding` and `grpc-accept-encoding`. */
export function encodingList(compressions: readonly Compression[], separator: string): string {
  return compressions.map((compression) => compression.name).join(separator);
}

/** Selects the supported compression that a peer prefers; `undefined` for identity. */
export type Negotiation = (acceptEncoding: string | undefined) => Compression | undefined;

/**
 * Creates the negotiation for a list of compressions. Among equal preferences, the order of the list decides.
 *
 *     Accept-Encoding = [ coding [ ";" "q=" qvalue ] *( "," coding [ ";" "q=" qvalue ] ) ]
 */
export function createNegotiation(compressions: readonly Compression[]): Negotiation {
  const chooseOnce = remember((acceptEncoding) => choose(compressions, acceptEncoding));
  return (acceptEncoding) =>
    acceptEncoding === undefined || compressions.length === 0 ? undefined : chooseOnce(acceptEncoding);
}

function choose(compressions: readonly Compression[], acceptEncoding: string): Compression | undefined {
  const preferences = new Map(parseQualityValues(acceptEncoding).map(({ name, quality }) => [name, quality]));
  const wildcard = preferences.get("*") ?? 0;
  const qualities = compressions.map(({ name }) => preferences.get(name) ?? wildcard);
  const best = Math.max(...qualities);
  const isPreferred = best > 0 && best >= (preferences.get(IDENTITY) ?? 0);
  return isPreferred ? compressions[qualities.indexOf(best)] : undefined;
}
