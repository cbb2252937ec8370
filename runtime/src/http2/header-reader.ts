/**
 * Decoding and validation of received header blocks, with a cache of repeated blocks.
 */
import { BlockCache } from "./hpack/block-cache.ts";
import { Decoder, type Latin1Decoder } from "./hpack/decoder.ts";
import { MAX_HEADER_BYTES, MAX_HEADER_FIELDS } from "./limits.ts";
import { BlockBuilder, type BlockKind, type HeaderBlock, MESSAGE_RULES } from "./messages.ts";

const LIMITS = { maxFields: MAX_HEADER_FIELDS, maxBytes: MAX_HEADER_BYTES };

/** The builder of all connections: a block is decoded without interruption. */
const builder = new BlockBuilder();

interface KnownBlock {
  readonly kind: BlockKind;
  readonly block: HeaderBlock;
}

/**
 * Decodes the header blocks of one connection. It must receive all of them, because each may change the HPACK state for
 * the next one.
 */
export class HeaderReader {
  /** The problem of the last block; `undefined` if the block is valid. */
  problem: "malformed" | "too large" | undefined;
  /** Number of table size updates in the last block. */
  updates = 0;
  readonly #decoder: Decoder;
  readonly #cache = new BlockCache<KnownBlock>();

  constructor(latin1?: Latin1Decoder) {
    this.#decoder = new Decoder(MESSAGE_RULES, LIMITS, latin1);
  }

  /** Bytes that the cache holds. */
  get held(): number {
    return this.#cache.held;
  }

  /** Decodes a block. Throws a `ConnectionError` if it cannot be decoded. */
  read(bytes: Uint8Array, start: number, end: number, kind: BlockKind): HeaderBlock {
    const decoder = this.#decoder;
    const known = this.#cache.find(bytes, start, end, decoder.generation);
    if (known !== undefined && known.kind === kind) {
      this.problem = undefined;
      this.updates = 0;
      return known.block;
    }
    builder.begin(kind);
    decoder.decode(bytes, start, end, builder);
    this.updates = decoder.updates;
    const block = builder.finish(decoder.size);
    this.problem = decoder.overLimit ? "too large" : builder.problem === undefined ? undefined : "malformed";
    if (this.problem === undefined && decoder.repeatable) {
      this.#cache.keep(bytes, start, end, decoder.generation, { kind, block }, decoder.size);
    }
    return block;
  }

  /** Clears the cache. */
  rest(): void {
    this.#cache.clear();
  }
}
