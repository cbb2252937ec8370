/**
 * Closed streams (RFC 9113, section 5.1): how they ended, and the frames that the peer may have sent before it knew of their
 * end. Such frames cost nothing; all others count as glitches.
 */
import { State } from "./stream.ts";

/** Numbers of remembered closed streams: those that this side has reset, on which peers may still send, and others. */
const REMEMBERED_RESETS = 256;
const REMEMBERED_OTHERS = 64;

/** Header blocks that a peer may send on a stream before it receives our reset: a response and trailers. */
const LATE_BLOCKS = 2;
/** Limits of what a peer may send on closed streams: they bound what many closed streams add up to. */
const MAX_LATE_BYTES: number = 64 * 1024 * 1024;
const MAX_LATE_FRAMES = 10_000;

/** A ring buffer of ids, which remembers the latest ones. */
class IdRing {
  readonly #size: number;
  #ids: number[] | undefined;
  #next = 0;
  /** True if ids have been evicted. */
  hasForgotten = false;

  constructor(size: number) {
    this.#size = size;
  }

  add(id: number): void {
    // The ring grows with its ids, because most connections have few.
    if (this.#ids === undefined) this.#ids = [id];
    else if (this.#ids.length < this.#size) this.#ids.push(id);
    else {
      this.hasForgotten = true;
      this.#ids[this.#next] = id;
      this.#next = (this.#next + 1) % this.#size;
    }
  }

  has(id: number): boolean {
    return this.#ids?.includes(id) === true;
  }
}

/** The last closed streams, with the way in which they ended, and what the peer may still send on closed streams. */
export class ClosedStreams {
  readonly #resets = new IdRing(REMEMBERED_RESETS);
  /** Ids, negative where the peer has reset the stream. */
  readonly #others = new IdRing(REMEMBERED_OTHERS);
  /** Bytes of DATA, header blocks and RST_STREAM frames that the peer may have sent before it knew that streams had ended. */
  #lateBytes = 0;
  #lateBlocks = 0;
  #lateResets = 0;

  /** Adds a stream. `window`: the bytes that the peer may have sent, if this side has reset the stream. */
  add(id: number, state: State, window = 0): void {
    if (state === State.PeerReset) {
      this.#others.add(-id);
      return;
    }
    if (this.#lateResets < MAX_LATE_FRAMES) this.#lateResets++;
    if (state !== State.WeReset) {
      this.#others.add(id);
      return;
    }
    this.#resets.add(id);
    // An empty frame that ends the stream needs no window, and counts as a byte.
    this.#lateBytes = Math.min(MAX_LATE_BYTES, this.#lateBytes + Math.max(0, window) + 1);
    this.#lateBlocks = Math.min(MAX_LATE_FRAMES, this.#lateBlocks + LATE_BLOCKS);
  }

  /** Counts a DATA frame on a closed stream. Returns whether the peer may have sent it before it knew of the end. */
  allowsData(length: number): boolean {
    this.#lateBytes -= Math.max(1, length);
    if (this.#lateBytes >= 0) return true;
    this.#lateBytes = 0;
    return false;
  }

  /** Counts a header block on a closed stream, like {@link allowsData}. */
  allowsBlock(): boolean {
    return this.#lateBlocks > 0 && this.#lateBlocks-- > 0;
  }

  /** Counts RST_STREAM on a closed stream, like {@link allowsData}. */
  allowsReset(): boolean {
    return this.#lateResets > 0 && this.#lateResets-- > 0;
  }

  stateOf(id: number): State {
    if (this.#resets.has(id)) return State.WeReset;
    if (this.#others.has(id)) return State.Ended;
    if (this.#others.has(-id)) return State.PeerReset;
    return this.#resets.hasForgotten || this.#others.hasForgotten ? State.Forgotten : State.Skipped;
  }
}
