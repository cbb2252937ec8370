/**
 * Decoding and validation of received header blocks, with a cache of repeated blocks.
 */

import { ConnectionError, ErrorCode } from "./codes.ts";
import type { HeadersFrame } from "./frame.ts";
import { BlockCache } from "./hpack/block-cache.ts";
import { Decoder } from "./hpack/decoder.ts";
import { Glitch, type Meters } from "./limits.ts";
import { BlockBuilder, type BlockKind, type HeaderBlock, MESSAGE_RULES } from "./messages.ts";

/** Decodes the header blocks of one connection: all of them, because each may change the HPACK state. */
export class HeaderReader {
  /** The problem of the last block; `undefined` if the block is valid. */
  problem: "malformed" | "too large" | undefined;
  readonly #decoder = new Decoder(MESSAGE_RULES);
  readonly #meters: Meters;
  readonly #cache = new BlockCache<HeaderBlock>();

  constructor(meters: Meters) {
    this.#meters = meters;
  }

  /**
   * Decodes a block. Throws a `ConnectionError` if it cannot be decoded, or if the connection has exceeded a limit: its caller
   * must not handle the block of a connection that is over.
   */
  read({ streamId, bytes, start, end, dependsOn }: HeadersFrame, kind: BlockKind): HeaderBlock {
    const decoder = this.#decoder;
    // RFC 7540, section 5.3.1
    this.problem = dependsOn === streamId ? "malformed" : undefined;
    const known = this.#cache.find(bytes, start, end, decoder.table.generation);
    if (known !== undefined && known.kind === kind) return known;
    const builder = new BlockBuilder(kind);
    decoder.decode(bytes, start, end, builder);
    if (decoder.updates > 0) this.#meters.glitch(Glitch.TableSize * decoder.updates);
    if (this.#meters.isExceeded) throw new ConnectionError(ErrorCode.EnhanceYourCalm, "a limit is exceeded");
    const block = builder.finish(decoder.size);
    if (decoder.overLimit) this.problem = "too large";
    else if (builder.problem !== undefined) this.problem = "malformed";
    else if (decoder.repeatable) {
      this.#cache.keep(bytes, start, end, decoder.table.generation, block, decoder.size);
    }
    return block;
  }

  /** Clears the cache. */
  rest(): void {
    this.#cache.clear();
  }
}
