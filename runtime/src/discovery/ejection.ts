/**
 * Outlier ejection (gRFC A50; Envoy's consecutive failures): an endpoint that fails more calls than the others is
 * ejected. It stays connected and takes no calls for a while.
 *
 *     consecutive_failures  after `failures` failed calls in a row, at once
 *     success_rate          at a sweep, if its success rate is below the mean by some standard deviations (A50)
 *     failure_percentage    at a sweep, if more than a percentage of its calls failed (A50)
 *
 * Failures that the other endpoints have as well, as in an overload of all of them or for a method that none of them has,
 * eject no endpoint: each of the three rules also compares the endpoint with the others, as far as their answers have arrived.
 * A50 does not, so it ejects healthy endpoints by chance.
 */
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { random } from "../call/platform.ts";
import type { EjectionSettings } from "./ejection-options.ts";
import type { Member } from "./member.ts";
import type { TargetEvent } from "./target-options.ts";

/** A rule of outlier detection, as gRFC A91 names them in metrics. A91 does not have the first, because A50 does not. */
export type EjectionMethod = Extract<TargetEvent, { readonly type: "ejection skipped" }>["method"];

/** Handles an outlier. It is not ejected if too many others are. */
type OnOutlier = (member: Member, error: RpcError, method: EjectionMethod, isEjected: boolean) => void;

/** The calls of an endpoint between two sweeps. */
interface Count {
  readonly member: Member;
  readonly calls: number;
  readonly failed: number;
}

/**
 * The failure rate of the other endpoints up to which `failures` failures in a row are an outlier. Above it, a run must be
 * longer, so that it stays as improbable.
 */
const COMMON_FAILURE_RATE = 0.05;
/** The standard errors by which the failures of an endpoint exceed those of the others, if they are no chance. */
const STANDARD_ERRORS = 4;
/**
 * The rate of one among `n` endpoints is at most √(n − 1) standard deviations from the mean, so that A50's default of 1.9 finds
 * no outlier among fewer than five. Among these, this share of the greatest possible distance is enough.
 */
const FEW = 5;
const GREATEST_DISTANCE_SHARE = 0.95;

export class OutlierDetector {
  options: EjectionSettings;
  readonly #members: Iterable<Member>;
  readonly #onOutlier: OnOutlier;
  #sweptAt = 0;

  /** `members` are all endpoints of the target, ready or not. */
  constructor(members: Iterable<Member>, onOutlier: OnOutlier, options: EjectionSettings) {
    this.#members = members;
    this.#onOutlier = onOutlier;
    this.options = options;
  }

  /**
   * Counts a failed call. Sweeps are due every `intervalMs` milliseconds, and run at the first failure from then on: without
   * a failure there is no outlier, so that successes need no clock and idle targets no timer.
   */
  failed(member: Member, error: RpcError, now: number): void {
    member.countFailure();
    if (this.#isOutlyingRun(member, now)) this.#eject(member, error, "consecutive_failures", now);
    if (now - this.#sweptAt >= this.options.intervalMs) this.#sweep(now);
  }

  /** Reports whether so many failures in a row are improbable at the failure rate of the other endpoints. */
  #isOutlyingRun(member: Member, now: number): boolean {
    const { failures } = this.options;
    const { failuresInRow } = member;
    // The others are read at every multiple alone, which bounds the cost of an outage of all endpoints.
    if (failures === 0 || failuresInRow % failures !== 0 || member.isEjected(now)) return false;
    // Unlisted endpoints get no calls while listed ones are ready.
    const others = this.#able(now).filter((one) => one !== member && one.isListed === member.isListed);
    const rate = others.reduce((sum, { failureRate }) => sum + failureRate, 0) / Math.max(1, others.length);
    return failuresInRow * Math.log(rate) <= failures * Math.log(COMMON_FAILURE_RATE);
  }

  /** Ejects the outliers among the calls since the last sweep, and starts to count anew. */
  #sweep(now: number): void {
    this.#sweptAt = now;
    const counts = this.#able(now).map((member) => ({ member, ...member.takeCounts() }));
    const { successRateEjection, failurePercentageEjection } = this.options;
    this.#ejectEach(outliersBySuccess(counts, successRateEjection), counts, successRateEjection, "success_rate", now);
    const failing = outliersByFailure(counts, failurePercentageEjection);
    this.#ejectEach(failing, counts, failurePercentageEjection, "failure_percentage", now);
  }

  #ejectEach(
    outliers: readonly Count[],
    counts: readonly Count[],
    { enforcementPercentage }: { readonly enforcementPercentage: number },
    method: EjectionMethod,
    now: number,
  ): void {
    for (const count of outliers) {
      const { member, calls, failed } = count;
      if (member.isEjected(now) || !standsOut(count, counts)) continue;
      if (random() * 100 >= enforcementPercentage) continue;
      const reason = `${failed} of ${calls} calls to ${member.endpoint.address} have failed`;
      this.#eject(member, new RpcError(Code.Unavailable, reason), method, now);
    }
  }

  #eject(member: Member, error: RpcError, method: EjectionMethod, now: number): void {
    const { intervalMs, baseEjectionTimeMs, maxEjectionTimeMs, maxEjectionPercent } = this.options;
    const ready = [...this.#members].filter(({ state }) => state === "ready");
    const ejected = ready.filter((one) => one.isEjected(now)).length + 1;
    if (!mayBeEjected(ejected, ready.length, maxEjectionPercent)) {
      // Once for a series of failures, and at each sweep.
      if (method !== "consecutive_failures" || member.failuresInRow <= this.options.failures)
        this.#onOutlier(member, error, method, false);
      return;
    }
    // The multiplier of A50: it decreases by one for each interval since the last ejection was over.
    const intervals = Math.floor(Math.max(0, now - member.ejectedUntil) / intervalMs);
    const multiplier = Math.max(0, member.ejections - intervals) + 1;
    const longestMs = Math.max(baseEjectionTimeMs, maxEjectionTimeMs);
    member.eject(multiplier, now + (Math.min(baseEjectionTimeMs * multiplier, longestMs) || intervalMs));
    this.#onOutlier(member, error, method, true);
  }

  /**
   * Returns the endpoints that take calls: those that are not ejected, or all if more are ejected than may be, because others
   * were lost since (panic threshold).
   */
  withoutEjected(ready: readonly Member[], now: number): readonly Member[] {
    const left = ready.filter((member) => !member.isEjected(now));
    return mayBeEjected(ready.length - left.length, ready.length, this.options.maxEjectionPercent) ? left : ready;
  }

  /** The endpoints that are ready and not ejected. */
  #able(now: number): Member[] {
    return [...this.#members].filter((member) => member.state === "ready" && !member.isEjected(now));
  }
}

/** The success rate algorithm of A50. */
function outliersBySuccess(
  counts: readonly Count[],
  options: EjectionSettings["successRateEjection"],
): readonly Count[] {
  const { stdevFactor, minimumHosts, requestVolume } = options;
  const hosts = counts.filter(({ calls }) => calls > 0 && calls >= requestVolume);
  if (hosts.length < Math.max(2, minimumHosts)) return [];
  const mean = hosts.reduce((sum, host) => sum + successRate(host), 0) / hosts.length;
  const variance = hosts.reduce((sum, host) => sum + (successRate(host) - mean) ** 2, 0) / hosts.length;
  const greatest =
    hosts.length < FEW ? GREATEST_DISTANCE_SHARE * Math.sqrt(hosts.length - 1) : Number.POSITIVE_INFINITY;
  const factor = Math.min(stdevFactor / 1000, greatest);
  const least = mean - factor * Math.sqrt(variance);
  return hosts.filter((host) => successRate(host) < least);
}

const successRate = ({ calls, failed }: Count): number => 1 - failed / calls;

/** The failure percentage algorithm of A50. */
function outliersByFailure(
  counts: readonly Count[],
  options: EjectionSettings["failurePercentageEjection"],
): readonly Count[] {
  const { threshold, minimumHosts, requestVolume } = options;
  if (counts.length < minimumHosts) return [];
  return counts.filter(
    ({ calls, failed }) => calls > 0 && calls >= requestVolume && (failed / calls) * 100 > threshold,
  );
}

/** Reports whether an endpoint has failed more calls than it would by chance at the failure rate of the others. */
function standsOut(count: Count, counts: readonly Count[]): boolean {
  const calls = counts.reduce((sum, other) => sum + other.calls, -count.calls);
  const failed = counts.reduce((sum, other) => sum + other.failed, -count.failed);
  const expected = calls === 0 ? 0 : (count.calls * failed) / calls;
  return count.failed > expected + STANDARD_ERRORS * (Math.sqrt(expected) + 1);
}

/** Reports whether so many of the ready endpoints may be ejected: a share, but at least one and never all. */
function mayBeEjected(ejected: number, ready: number, maxEjectionPercent: number): boolean {
  return ejected === 0 || (ejected < ready && (ejected <= 1 || ejected * 100 <= maxEjectionPercent * ready));
}
