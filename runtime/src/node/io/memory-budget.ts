/**
 * Memory budget of a server process: bytes received for calls that have no answer yet, and bytes of responses that clients
 * have not taken yet. It bounds slow reads and held uploads (Slowloris) of all connections together; backpressure bounds one.
 */
import { Code } from "../../call/code.ts";
import { RpcError } from "../../call/error.ts";
import { DEFAULT_MAX_MESSAGE_BYTES } from "../../protocol/options.ts";
import { type Indexed, SwapList } from "./swap-list.ts";

/** The budget unless the user sets one: a process under attack fits into a container with 512 MiB. */
const DEFAULT_BUDGET_BYTES = 256 * 1024 * 1024;
/** The default holds at least so many messages of the largest size. */
const MIN_MESSAGES = 4;
/**
 * This fraction of the budget is for connections that hold up to {@link SMALL_BYTES}, so that small calls go on when it is
 * short, and for what large messages are made of or into, until it is collected.
 */
const RESERVED_FRACTION = 1 / 2;
const SMALL_BYTES = 16 * 1024;
/** The budget is short while more than this fraction of what is for large amounts is held. */
const SHORT_FRACTION = 3 / 4;
/** Connections that are asked to give memory back before one amount is refused. */
const MAX_RECLAIMS = 16;
/** Exchanges without progress for this long are ended when the budget is short. */
export const STALLED_MS = 5_000;

/**
 * Counts what the connections of a server hold. `Infinity` refuses nothing. Taking and releasing are O(1) and allocate
 * nothing.
 */
export class MemoryBudget {
  readonly #limit: number;
  readonly #limitOfLarge: number;
  readonly #holders = new SwapList<MemoryShare>();
  #held = 0;
  /** Index of the holder that was asked last to give memory back: all have their turn (the clock algorithm). */
  #hand = 0;
  readonly #scheduled: (() => void)[] = [];

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
    this.#limitOfLarge = limitBytes * (1 - RESERVED_FRACTION);
  }

  /** Bytes that all connections hold. */
  get held(): number {
    return this.#held;
  }

  /** True if little is left for large amounts. */
  get short(): boolean {
    return this.#held > this.#limitOfLarge * SHORT_FRACTION;
  }

  /** For {@link MemoryShare}: whether the bytes have been added to it. */
  take(share: MemoryShare, bytes: number): boolean {
    const limit = share.held + bytes <= SMALL_BYTES ? this.#limit : this.#limitOfLarge;
    if (this.#held + bytes > limit && !this.#reclaim(limit - bytes)) return false;
    if (share.held === 0) this.#holders.add(share);
    share.held += bytes;
    this.#held += bytes;
    return true;
  }

  /** For {@link MemoryShare}: removes bytes from it. */
  release(share: MemoryShare, bytes: number): void {
    share.held -= bytes;
    this.#held -= bytes;
    if (share.held === 0) this.#holders.delete(share);
  }

  /** Calls back, while the budget is short in a turn of the event loop of its own. */
  schedule(callback: () => void): void {
    if (this.#scheduled.push(callback) === 1) setImmediate(this.#next);
  }

  readonly #next = (): void => {
    do this.#scheduled.shift()?.();
    while (!this.short && this.#scheduled.length > 0);
    if (this.#scheduled.length > 0) setImmediate(this.#next);
  };

  /** Has connections end what is stalled until no more than that many bytes are held. Returns whether that was reached. */
  #reclaim(target: number): boolean {
    for (let i = 0; i < MAX_RECLAIMS && this.#held > target && this.#holders.size > 0; i++) {
      this.#hand = (this.#hand + 1) % this.#holders.size;
      this.#holders.at(this.#hand)?.reclaim();
    }
    return this.#held <= target;
  }
}

/** The share of one connection in the budget. */
export class MemoryShare implements Indexed {
  index = 0;
  /** Bytes taken and not released. Only the budget sets it. */
  held = 0;
  readonly #budget: MemoryBudget;
  readonly #reclaim: () => void;
  #closed = false;
  #refused = false;

  /**
   * `reclaim` is called when the budget is short: it ends exchanges of the connection that hold memory and have made no
   * progress for {@link STALLED_MS}, and releases what they hold before it returns.
   */
  constructor(budget: MemoryBudget, reclaim: () => void) {
    this.#budget = budget;
    this.#reclaim = reclaim;
  }

  /** Takes bytes. If the budget is used up or the connection closed, it takes none and returns false. */
  take(bytes: number): boolean {
    if (!this.#closed && this.#budget.take(this, bytes)) return true;
    this.#refused = true;
    return false;
  }

  /** True if little of the budget is left: calls must be started by {@link admit} then. */
  get short(): boolean {
    return this.#budget.short;
  }

  /**
   * Starts a call while the budget is short: one in a turn of the event loop. Calls of a connection that was refused an amount
   * fail before their handlers run: responses that would be refused are garbage, which fills memory too.
   */
  admit(start: () => void, fail: (reason: RpcError) => void): void {
    this.#budget.schedule(() => {
      if (!this.#budget.short) this.#refused = false;
      if (this.#refused) fail(outOfMemory());
      else start();
    });
  }

  /** Gives back bytes that were taken. After {@link close} there is nothing to give back. */
  release(bytes: number): void {
    if (!this.#closed) this.#budget.release(this, bytes);
  }

  /** Gives everything back, when the connection has closed. */
  close(): void {
    if (!this.#closed) this.#budget.release(this, this.held);
    this.#closed = true;
  }

  /** For the budget: has the connection end what is stalled. */
  reclaim(): void {
    this.#reclaim();
  }
}

/** Validates the option `maxBufferedBytes` of a server, and returns its default where it is not given. */
export function resolveBudgetBytes(
  given: number | undefined,
  maxMessageBytes: number = DEFAULT_MAX_MESSAGE_BYTES,
): number {
  if (given === undefined) return Math.max(DEFAULT_BUDGET_BYTES, MIN_MESSAGES * maxMessageBytes);
  if (given >= 2 * maxMessageBytes) return given;
  const least = `at least twice maxMessageBytes (${2 * maxMessageBytes})`;
  throw new RangeError(`maxBufferedBytes must be a number of bytes, ${least}, not ${given}`);
}

/** The error of a call whose request or response does not fit into the budget. The client may try again later. */
export function outOfMemory(): RpcError {
  return new RpcError(Code.Unavailable, "the server holds too much unread data at present (option maxBufferedBytes)");
}
