/**
 * Outlier ejection (gRFC A50, Envoy's consecutive failures): an endpoint that fails several calls in a row gets no
 * calls for a while, even if it is connected. At most half of the endpoints are ejected at a time. If fewer than half
 * are left, ejections are ignored (panic threshold), because the cause is then not the single endpoint.
 */
import type { Member } from "./member.ts";

/** Limits of outlier ejection. Each value is checked when the transport is created. */
export interface EjectionOptions {
  /** Failures in a row after which an endpoint is ejected; 0: never. Default: 5. */
  readonly failures: number;
  /** Duration of the first ejection, in milliseconds. The n-th ejection in a row lasts n times as long. Default: 30,000. */
  readonly ejectionMs: number;
  /** Upper bound of the duration of an ejection, in milliseconds. Default: 300,000. */
  readonly maxEjectionMs: number;
}

/**
 * Counts a failed call. Returns "ejected" if the endpoint is ejected because of it, "skipped" if it would be but for
 * the others that are ejected, which is said once for each series of failures, and otherwise "counted".
 */
export function countFailure(
  member: Member,
  members: Iterable<Member>,
  { failures, ejectionMs, maxEjectionMs }: EjectionOptions,
  now: number,
): "counted" | "ejected" | "skipped" {
  member.failures++;
  if (failures === 0 || member.failures < failures || member.isEjected(now)) return "counted";
  let ready = 0;
  let ejected = 1;
  for (const one of members) {
    if (one.state !== "ready") continue;
    ready++;
    if (one.isEjected(now)) ejected++;
  }
  if (ejected * 2 > ready) return member.failures === failures ? "skipped" : "counted";
  const lastMs = Math.min(ejectionMs * member.ejections, maxEjectionMs);
  // The time since the last ejection is longer than that ejection was: the count starts again.
  member.ejections = now - member.ejectedUntil > lastMs ? 1 : member.ejections + 1;
  member.ejectedUntil = now + Math.min(ejectionMs * member.ejections, maxEjectionMs);
  member.failures = 0;
  return "ejected";
}

/** Returns the endpoints that take calls: those that are not ejected, or all if fewer than half are left. */
export function withoutEjected(ready: readonly Member[], now: number): readonly Member[] {
  const left = ready.filter((member) => !member.isEjected(now));
  return left.length * 2 < ready.length ? ready : left;
}
