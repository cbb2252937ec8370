/**
 * Retry budgets (retry throttling): limits on the retries of a target as a fraction of its calls, because retries would only add
 * load when most calls fail. The default counts the calls of the last ten seconds, as Finagle's `RetryBudget` does; a service
 * config may select gRPC's token bucket instead (gRFC A6, "Throttling Retry Attempts and Hedged RPCs").
 */
import { assertAmount, assertMembers } from "../call/option.ts";
import { now } from "../call/platform.ts";

/** A limit on the retries of a target. */
export interface RetryThrottle {
  /** The reason why no further attempt is allowed now. `undefined`: one is allowed. */
  refusal(): string | undefined;
  /** Counts an attempt that is made because another one has failed. */
  retried(): void;
  /** Counts a call that has succeeded. */
  succeeded(): void;
  /** Counts an attempt that has failed with a code of the policy. */
  failed(): void;
}

/**
 * A limit on retries that is relative to recent calls. The retries of ten seconds are at most `ratio` times the calls that have
 * succeeded in them, or ten times `minPerSecond` if that is more. When no call of the last ten seconds has succeeded, retries also
 * end after as many failed attempts, so that a complete outage costs no more than one attempt for each call.
 */
export interface RetryBudget {
  /** Retries for each call that succeeds, 0 or more. Default: 0.2. */
  readonly ratio?: number | undefined;
  /** Retries a second that are allowed however few calls succeed, 0 or more. `Infinity`: no limit. Default: 10. */
  readonly minPerSecond?: number | undefined;
}

/** The time in which events count, in seconds. */
const RECENT_SECONDS = 10;

/** The retries of the last seconds, limited by a {@link RetryBudget}. */
export class RecentRetries implements RetryThrottle {
  readonly #ratio: number;
  readonly #min: number;
  readonly #succeeded = new RecentCount();
  readonly #failed = new RecentCount();
  readonly #retried = new RecentCount();

  /** Throws a `TypeError` for an invalid budget. */
  constructor(budget: RetryBudget = {}) {
    assertMembers("budget", budget, ["ratio", "minPerSecond"]);
    const { ratio = 0.2, minPerSecond = 10 } = budget;
    this.#ratio = assertAmount("budget.ratio", ratio);
    this.#min = assertAmount("budget.minPerSecond", minPerSecond) * RECENT_SECONDS;
  }

  refusal(): string | undefined {
    const second = this.#second();
    const successes = this.#succeeded.at(second);
    // The attempt that has just failed is counted already.
    const used = successes === 0 ? this.#failed.at(second) - 1 : this.#retried.at(second);
    if (used < Math.max(this.#min, this.#ratio * successes)) return undefined;
    const what = successes === 0 ? `${used + 1} failed attempts and no success` : `${used} retries`;
    return `the retry budget is used up: ${what} in ${RECENT_SECONDS} s`;
  }

  retried(): void {
    this.#retried.add(this.#second());
  }

  succeeded(): void {
    this.#succeeded.add(this.#second());
  }

  failed(): void {
    this.#failed.add(this.#second());
  }

  #second(): number {
    return Math.floor(now() / 1_000);
  }
}

/** A count of recent events, in a ring with a slot for each second. */
class RecentCount {
  readonly #slots = new Array<number>(RECENT_SECONDS).fill(0);
  #second = 0;
  #total = 0;

  add(second: number): void {
    this.#advance(second);
    this.#slots[second % RECENT_SECONDS] = (this.#slots[second % RECENT_SECONDS] ?? 0) + 1;
    this.#total++;
  }

  at(second: number): number {
    this.#advance(second);
    return this.#total;
  }

  /** Empties the slots of the seconds since the last event. */
  #advance(second: number): void {
    for (let next = Math.max(this.#second + 1, second - RECENT_SECONDS + 1); next <= second; next++) {
      this.#total -= this.#slots[next % RECENT_SECONDS] ?? 0;
      this.#slots[next % RECENT_SECONDS] = 0;
    }
    this.#second = second;
  }
}

/** The member `retryThrottling` of a service config. */
export interface RetryThrottling {
  /**
   * Initial and maximum number of tokens, up to 1,000. Each failure takes one token. Retries stop while half of them or
   * fewer are left.
   */
  readonly maxTokens: number;
  /** Tokens that a success returns, in steps of a thousandth. */
  readonly tokenRatio: number;
}

/** The tokens of one target, in thousandths, so that a thousand successes at 0.001 make exactly one token. */
export class RetryTokens implements RetryThrottle {
  readonly #max: number;
  readonly #ratio: number;
  #count: number;

  /** `filled` is the initial share of tokens, from 0 to 1. Throws a `TypeError` for invalid throttling. */
  constructor({ maxTokens, tokenRatio }: RetryThrottling, filled = 1) {
    if (!(maxTokens > 0 && maxTokens <= 1_000)) {
      throw new TypeError(`maxTokens must be more than 0 and at most 1,000, not ${maxTokens}`);
    }
    if (!(tokenRatio > 0 && Number.isFinite(tokenRatio))) {
      throw new TypeError(`tokenRatio must be more than 0, not ${tokenRatio}`);
    }
    this.#max = Math.round(maxTokens * 1_000);
    this.#ratio = Math.floor(tokenRatio * 1_000 + 1e-6);
    this.#count = this.#max * filled;
  }

  /** The fraction of tokens that are left, from 0 to 1. */
  get filled(): number {
    return this.#count / this.#max;
  }

  refusal(): string | undefined {
    if (this.#count > this.#max / 2) return undefined;
    return `the retry budget is used up: retryThrottling has ${this.#count / 1_000} of ${this.#max / 1_000} tokens left`;
  }

  retried(): void {}

  succeeded(): void {
    this.#count = Math.min(this.#max, this.#count + this.#ratio);
  }

  failed(): void {
    this.#count = Math.max(0, this.#count - 1_000);
  }
}
