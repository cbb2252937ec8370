/**
 * Limits of legal or nearly legal behaviour that is rare among well-behaved peers. Every frame that causes work without
 * progress (a glitch) has a weight, and a connection that has used up its tokens is closed with ENHANCE_YOUR_CALM.
 */

/** Limits of a connection that its owner may set. */
export interface EngineLimits {
  /** Concurrent streams that the peer may open. Default: 100. */
  readonly maxStreams: number;
  /** Handlers that run at a time, including those of cancelled requests. Default: 200. */
  readonly maxHandlers: number;
  /** Stream resets in a burst, beyond those of `resetsPerSecond` (Rapid Reset, CVE-2023-44487). Default: 900. */
  readonly resetBurst: number;
  /** Stream resets per second in the long run. Default: 30. */
  readonly resetsPerSecond: number;
  /**
   * Maximum size of a header block, in bytes, that is announced to clients (SETTINGS_MAX_HEADER_LIST_SIZE). Default: 16
   * KiB.
   */
  readonly maxHeaderListBytes?: number | undefined;
}

export const DEFAULT_LIMITS: EngineLimits = {
  maxStreams: 100,
  maxHandlers: 200,
  resetBurst: 900,
  resetsPerSecond: 30,
};

/**
 * Maximum bytes of a header block, with 32 added for each field, which therefore are fewer than 2,000 (CVE-2016-6581,
 * CVE-2026-49975). The excess is decoded and dropped.
 */
export const MAX_HEADER_BYTES: number = 64 * 1024;
/**
 * Maximum CONTINUATION frames of a header block, empty ones included, so that a block has at most nine times 16 KiB, 144 KiB
 * (VU#421644, CVE-2026-33871). There is no limit on its encoded bytes below that: a block above {@link MAX_HEADER_BYTES} is
 * decoded and costs its stream, as RFC 9113, section 10.5.1, recommends, and not the other streams of its connection.
 */
export const MAX_CONTINUATIONS = 8;
/** Maximum entries of a SETTINGS frame (CVE-2020-11080). */
export const MAX_SETTINGS = 32;
/** Maximum interim responses (1xx) of a stream. */
export const MAX_INTERIM_RESPONSES = 10;
/** Maximum bytes of headers of open streams and of bodies that wait to be sent, per connection. */
export const MAX_BUFFERED_BYTES: number = 64 * 1024 * 1024;

/** Maximum unsent acknowledgements and resets that a peer causes and does not read (CVE-2019-9512, -9514, -9515). */
const MAX_OWED = 1_000;
/** Age of a stream, in milliseconds, from which on its reset does not count: it has taken the place of a slow call. */
const OLD_STREAM_MS = 1_000;
const GLITCH_BURST = 10_000;
const GLITCHES_PER_SECOND = 330;

/** The weights of glitches by their cause. */
export const Glitch = {
  /** A stream beyond the stream limit or after the final GOAWAY. */
  Refused: 10,
  /** A stream beyond the stream limit, before the peer can know the limit. */
  RefusedEarly: 1,
  /** SETTINGS after the first (CVE-2019-9515), plus a tenth of the number of streams whose windows change. */
  Settings: 10,
  Ping: 10,
  /** An acknowledgement of a frame that was not sent. */
  StrayAck: 10,
  /** DATA in tiny frames because of the peer's window (CVE-2019-9511). */
  Dribble: 10,
  /** DATA without data and without END_STREAM (CVE-2019-9518). */
  EmptyData: 10,
  /** DATA with more padding than data. */
  Padding: 1,
  /** PRIORITY, which is ignored (CVE-2019-9513). */
  Priority: 1,
  /** A frame of an unknown type, plus one for each 4 KiB of its payload. */
  Unknown: 1,
  /** WINDOW_UPDATE, beyond two for each DATA frame that this side has sent. */
  WindowUpdate: 1,
  /** DATA, RST_STREAM or WINDOW_UPDATE on a closed stream, of whose end the peer must have known. */
  DeadStream: 1,
  /** The same for a header block, which must be decoded. */
  DeadBlock: 10,
  /** A table size update of HPACK. */
  TableSize: 1,
  /** GOAWAY after the two of a graceful shutdown. */
  GoAway: 10,
} as const;

/** The counters of one connection, which report a limit that is exceeded. Resets and glitches are token buckets. */
export class Meters {
  readonly #limits: EngineLimits;
  readonly #onExceeded: (problem: string) => void;
  /** Tokens that have been spent and not refilled. */
  #resets = 0;
  #glitches = 0;
  /** The last old stream, the last stream when it was noted, and the time since then. */
  #oldId = 0;
  #notedId = 0;
  #notedMs = 0;
  /** Acknowledgements and resets that wait to be sent. */
  owed = 0;
  /** True if a limit was exceeded, which has ended the connection. */
  isExceeded = false;

  constructor(limits: EngineLimits, onExceeded: (problem: string) => void) {
    this.#limits = limits;
    this.#onExceeded = onExceeded;
  }

  /** Counts a reset, unless the stream is old. Default: it is not. */
  reset(streamId: number = Number.POSITIVE_INFINITY): void {
    if (streamId <= this.#oldId) return;
    this.#resets++;
    if (this.#resets > this.#limits.resetBurst) this.#exceed("too many streams were reset");
  }

  glitch(weight: number): void {
    this.#glitches += weight;
    if (this.#glitches > GLITCH_BURST) this.#exceed("too many frames without progress");
  }

  owe(): void {
    this.owed++;
    if (this.owed > MAX_OWED) this.#exceed("too many unread acknowledgements and resets");
  }

  #exceed(problem: string): void {
    this.isExceeded = true;
    this.#onExceeded(problem);
  }

  tick(elapsedMs: number, lastId: number): void {
    this.#resets = refill(this.#resets, elapsedMs, this.#limits.resetsPerSecond);
    this.#glitches = refill(this.#glitches, elapsedMs, GLITCHES_PER_SECOND);
    this.#notedMs += elapsedMs;
    if (this.#notedMs < OLD_STREAM_MS) return;
    this.#oldId = this.#notedId;
    this.#notedId = lastId;
    this.#notedMs = 0;
  }
}

/** Returns the tokens that remain spent after some time. */
function refill(spent: number, elapsedMs: number, perSecond: number): number {
  return spent > 0 ? Math.max(0, spent - (elapsedMs * perSecond) / 1_000) : 0;
}
