/**
 * Retry throttling (gRFC A6, "Throttling Retry Attempts and Hedged RPCs"): a token bucket limits retries to a fraction of
 * the calls. When most calls fail, retries would only add load.
 */

/** Limit on the retries of a target. */
export interface RetryBudget {
  /**
   * Initial and maximum number of tokens, up to 1,000. Each failure takes one token. Retries stop while half of them or
   * fewer are left.
   */
  readonly maxTokens: number;
  /** Tokens that a success returns, in steps of a thousandth. */
  readonly tokenRatio: number;
}

/** The tokens of one target, in thousandths, so that a thousand successes at 0.001 make exactly one token. */
export class RetryTokens {
  readonly #max: number;
  readonly #ratio: number;
  #count: number;

  /** `filled` is the initial share of tokens, from 0 to 1. Throws a `TypeError` for an invalid budget. */
  constructor({ maxTokens, tokenRatio }: RetryBudget, filled = 1) {
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

  /** Reports whether another attempt is allowed. */
  get allowsRetry(): boolean {
    return this.#count > this.#max / 2;
  }

  succeeded(): void {
    this.#count = Math.min(this.#max, this.#count + this.#ratio);
  }

  failed(): void {
    this.#count = Math.max(0, this.#count - 1_000);
  }
}
