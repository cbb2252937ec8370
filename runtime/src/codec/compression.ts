/**
 * Compressions of message bytes, and the choice between them. The wire name of a compression is an encoding.
 */
import { parseQualityValues } from "./quality-values.ts";

/** A way to make bytes smaller. Public and stable: register your own beside the built-in ones. */
export interface Compression {
  /** The encoding's lower-case name on the wire, such as `gzip`. */
  readonly name: string;
  /** May return `undefined` for a message that is better sent as it is. */
  compress(bytes: Uint8Array): Uint8Array | Promise<Uint8Array> | undefined;
  /** Must stop, and throw a `RangeError`, before its output grows beyond `maxBytes`. */
  decompress(bytes: Uint8Array, maxBytes: number): Uint8Array | Promise<Uint8Array>;
}

/** The name of "not compressed". */
export const IDENTITY = "identity";

/** The compression with that encoding name; `undefined` if it is not registered. */
export function findCompression(compressions: readonly Compression[], encoding: string): Compression | undefined {
  return compressions.find((compression) => compression.name === encoding);
}

/** The names, best first, for `accept-encoding` and `grpc-accept-encoding`. */
export function encodingList(compressions: readonly Compression[], separator: string): string {
  return compressions.map((compression) => compression.name).join(separator);
}

/** Maximum number of cached lists. Peers send few different ones; those of an attacker must not fill the memory. */
const MAX_REMEMBERED = 100;

/** Selects the supported compression that a peer prefers; `undefined` for identity. */
export type Negotiation = (acceptEncoding: string | undefined) => Compression | undefined;

/**
 * Makes the negotiation for a list of compressions. Among equal preferences, the order of the list decides.
 *
 *     Accept-Encoding = [ coding [ ";" "q=" qvalue ] *( "," coding [ ";" "q=" qvalue ] ) ]
 */
export function createNegotiation(compressions: readonly Compression[]): Negotiation {
  const remembered = new Map<string, Compression | undefined>();
  return (acceptEncoding) => {
    if (acceptEncoding === undefined || compressions.length === 0) return undefined;
    if (remembered.has(acceptEncoding)) return remembered.get(acceptEncoding);
    const choice = choose(compressions, acceptEncoding);
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(acceptEncoding, choice);
    return choice;
  };
}

function choose(compressions: readonly Compression[], acceptEncoding: string): Compression | undefined {
  const preferences = new Map(parseQualityValues(acceptEncoding).map(({ name, quality }) => [name, quality]));
  const wildcard = preferences.get("*") ?? 0;
  let best: Compression | undefined;
  let bestQuality = 0;
  for (const compression of compressions) {
    const quality = preferences.get(compression.name) ?? wildcard;
    if (quality > bestQuality) {
      best = compression;
      bestQuality = quality;
    }
  }
  const identity = preferences.get(IDENTITY);
  return identity !== undefined && identity > bestQuality ? undefined : best;
}
