/** The compressions of the programs on Node. */
import { nodeCompressions } from "triple-es/node";
import { framedSnappy } from "triple-es/snappy";
import { Compression } from "./gen/connectrpc/conformance/v1/config_pb.ts";

/**
 * The compressions of both programs: all that this version of Node supports, and snappy in the format of the suite's peers.
 */
export const compressions = [...nodeCompressions, framedSnappy];

/** Returns the name on the wire of a compression of the suite. `undefined`: none. */
export const encodings: Readonly<Record<Compression, string | undefined>> = {
  [Compression.UNSPECIFIED]: undefined,
  [Compression.IDENTITY]: undefined,
  [Compression.GZIP]: "gzip",
  [Compression.BR]: "br",
  [Compression.ZSTD]: "zstd",
  [Compression.DEFLATE]: "deflate",
  [Compression.SNAPPY]: "snappy",
};
