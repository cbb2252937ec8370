/**
 * Memory budget of a server process. It counts bytes received for calls that are not answered yet, and bytes of
 * responses that clients have not read yet. It bounds slow reads and held uploads (Slowloris) over all connections;
 * backpressure bounds a single one.
 */

import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { defer } from "../call/platform.ts";
import { DEFAULT_MAX_MESSAGE_BYTES } from "../protocol/options.ts";
import { type Indexed, SwapList } from "./swap-list.ts";

/** The default budget: with it, a process under attack fits into a container with 512 MiB. */
const DEFAULT_BUDGET_BYTES = 256 * 1024 * 1024;
/** The default budget holds at least this many messages of the maximum size. */
const MIN_MESSAGES = 4;
/**
 * The fraction of the budget that large amounts cannot use. It serves connections that hold up to {@link
 * SMALL_SHARE_BYTES}, so that small calls continue when memory is short, and the garbage of encoding and decoding large
 * messages until it is collected.
 */
const RESERVED_FRACTION = 1 / 2;
/**
 * Size limit, in bytes, of bodies that do not count towards the memory budget if they are received with the head of their
 * request: they need less memory than the objects of their requests.
 */
export const UNCOUNTED_BYTES = 1024;
/** Number of bytes that every connection may hold. */
export const SMALL_SHARE_BYTES: number = 16 * 1024;
/** Memory is short while more than this fraction of the part for large amounts is held. */
const SHORT_FRACTION = 3 / 4;
/**
 * Received chunks are copied while more than this is held. Below, they may be views that keep up to four times their bytes in
 * memory. Hence unread views keep at most three times this beyond the counted bytes. In addition, each stream whose reader
 * has taken a part of a read may keep the rest of that read.
 */
const MAX_VIEW_BYTES: number = 16 * 1024 * 1024;
/** Maximum number of connections that are asked to release memory before an amount is refused. */
const MAX_RECLAIMS = 16;
/** Exchanges without progress for this long are ended when the budget is short. */
export const STALLED_MS = 5_000;

/** Counts the bytes that a server's connections hold; `Infinity` refuses nothing. O(1), without allocations. */
export class MemoryBudget {
  readonly #limit: number;
  readonly #limitOfLarge: number;
  readonly #holders = new SwapList<MemoryShare>();
  #held = 0;
  /** Index of the holder that was asked last to release memory. All holders are asked in turn (the clock algorithm). */
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

  /** True if little memory is left for large amounts. Calls must then be started by {@link MemoryShare.admit}. */
  get short(): boolean {
    return this.#held > this.#limitOfLarge * SHORT_FRACTION;
  }

  /** True if received chunks must be copied, because views keep more memory than is counted. */
  get compact(): boolean {
    return this.#held > MAX_VIEW_BYTES;
  }

  /** Adds bytes to a share, for {@link MemoryShare}. Returns false if they do not fit. */
  take(share: MemoryShare, bytes: number): boolean {
    const limit = share.held + bytes <= SMALL_SHARE_BYTES ? this.#limit : this.#limitOfLarge;
    if (this.#held + bytes > limit && !this.#reclaim(limit - bytes)) return false;
    if (share.held === 0) this.#holders.add(share);
    share.held += bytes;
    this.#held += bytes;
    return true;
  }

  /** Removes bytes from a share, for {@link MemoryShare}. */
  release(share: MemoryShare, bytes: number): void {
    share.held -= bytes;
    this.#held -= bytes;
    if (share.held === 0) this.#holders.delete(share);
  }

  /** Schedules a callback. While memory is short, each callback runs in a turn of the event loop of its own. */
  schedule(callback: () => void): void {
    if (this.#scheduled.push(callback) === 1) defer(this.#next);
  }

  readonly #next = (): void => {
    do this.#scheduled.shift()?.();
    while (!this.short && this.#scheduled.length > 0);
    if (this.#scheduled.length > 0) defer(this.#next);
  };

  /** Makes connections end stalled exchanges until at most `target` bytes are held. Returns whether that was reached. */
  #reclaim(target: number): boolean {
    for (let i = 0; i < MAX_RECLAIMS && this.#held > target && this.#holders.size > 0; i++) {
      this.#hand = (this.#hand + 1) % this.#holders.size;
      this.#holders.at(this.#hand)?.holder.reclaim();
    }
    return this.#held <= target;
  }
}

/** A connection that holds memory. */
export interface MemoryHolder {
  /** Ends exchanges that hold memory without progress for {@link STALLED_MS}, and releases it before returning. */
  reclaim(): void;
}

/** The share of one connection in the budget. */
export class MemoryShare implements Indexed {
  index = 0;
  /** Bytes taken and not released. Only the budget sets it. */
  held = 0;
  readonly budget: MemoryBudget;
  readonly holder: MemoryHolder;
  #closed = false;
  #refused = false;

  constructor(budget: MemoryBudget, holder: MemoryHolder) {
    this.budget = budget;
    this.holder = holder;
  }

  /** Takes bytes. If the budget is used up or the connection is closed, takes none and returns false. */
  take(bytes: number): boolean {
    if (!this.#closed && this.budget.take(this, bytes)) return true;
    this.#refused = true;
    return false;
  }

  /** Replaces an amount that was taken by another one. Returns false and changes nothing if that does not fit. */
  replace(taken: number, bytes: number): boolean {
    if (bytes > taken) return this.take(bytes - taken);
    if (bytes < taken) this.release(taken - bytes);
    return true;
  }

  /**
   * Starts a call while memory is short: one call per turn of the event loop. Once the connection has been refused an amount,
   * its calls fail before their handlers run: responses that would be refused are garbage, which takes memory too.
   */
  admit(start: () => void, fail: (reason: RpcError) => void): void {
    this.budget.schedule(() => {
      if (!this.budget.short) this.#refused = false;
      if (this.#refused) fail(outOfMemory());
      else start();
    });
  }

  /** Releases bytes that were taken. Does nothing after {@link close}. */
  release(bytes: number): void {
    if (!this.#closed) this.budget.release(this, bytes);
  }

  /** Releases all bytes, when the connection has closed. */
  close(): void {
    if (!this.#closed) this.budget.release(this, this.held);
    this.#closed = true;
  }
}

/** Validates the option `maxBufferedBytes` of a server, and returns its default if it is not given. */
export function resolveBudgetBytes(
  given: number | undefined,
  maxMessageBytes: number = DEFAULT_MAX_MESSAGE_BYTES,
): number {
  if (given === undefined) return Math.max(DEFAULT_BUDGET_BYTES, MIN_MESSAGES * maxMessageBytes);
  if (typeof given === "number" && given >= 2 * maxMessageBytes) return given;
  const least = `at least twice maxMessageBytes (${2 * maxMessageBytes})`;
  throw new RangeError(`maxBufferedBytes must be a number of bytes, ${least}, not ${given}`);
}

/** The error of a call whose request or response does not fit into the budget. The client may try again later. */
export function outOfMemory(): RpcError {
  return new RpcError(Code.Unavailable, "the server holds too much unread data at present (option maxBufferedBytes)");
}
