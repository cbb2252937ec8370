/**
 * Outlier ejection (gRFC A50, Envoy's consecutive failures): an endpoint that fails several calls in a row gets none for a while, however
 * well it is connected. At most half of the endpoints are ejected at a time, and where fewer than half are left, ejections are ignored
 * (panic threshold): then it is not the endpoints that fail.
 */
import type { Member } from "./member.ts";

export interface EjectionOptions {
  /** Failures in a row after which an endpoint is ejected; 0: never. */
  readonly failures: number;
  /** How long the first time, in milliseconds. The n-th time in a row it is n times as long. */
  readonly ejectionMs: number;
  readonly maxEjectionMs: number;
}

/** Counts a failed call. Returns whether the endpoint is ejected by it. */
export function countFailure(
  member: Member,
  members: Iterable<Member>,
  { failures, ejectionMs, maxEjectionMs }: EjectionOptions,
  now: number,
): boolean {
  member.failures++;
  if (failures === 0 || member.failures < failures || member.isEjected(now)) return false;
  let ready = 0;
  let ejected = 1;
  for (const one of members) {
    if (one.state !== "ready") continue;
    ready++;
    if (one.isEjected(now)) ejected++;
  }
  if (ejected * 2 > ready) return false;
  const lastMs = Math.min(ejectionMs * member.ejections, maxEjectionMs);
  // Good for as long as it was ejected: the count begins anew.
  member.ejections = now - member.ejectedUntil > lastMs ? 1 : member.ejections + 1;
  member.ejectedUntil = now + Math.min(ejectionMs * member.ejections, maxEjectionMs);
  member.failures = 0;
  return true;
}

/** The endpoints that take calls: those that are not ejected, or all where these are fewer than half. */
export function withoutEjected(ready: readonly Member[], now: number): readonly Member[] {
  const left = ready.filter((member) => !member.isEjected(now));
  return left.length * 2 < ready.length ? ready : left;
}
