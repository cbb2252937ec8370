/**
 * Latencies of endpoints relative to each other: the time until the response headers of a call, divided by the usual time of
 * its method. An endpoint whose calls happen to be those of a slow method is therefore not slow.
 */
import { now } from "../call/platform.ts";
import type { HttpRequest } from "../http/exchange.ts";
import type { Member } from "./member.ts";

/** The number of calls that the mean of a method remembers. */
const MEAN_CALLS = 64;
/** A time in milliseconds that is added to both latencies, because differences below it are no signs of a slow endpoint. */
const NOISE_MS = 5;

export class LatencyMeter {
  /** The mean latency of successful calls by path, in milliseconds, with their number. */
  readonly #methods = new Map<string, { meanMs: number; calls: number }>();

  /** Notes the time at which a request is sent. A request without a context is not measured. */
  sent({ context }: HttpRequest): void {
    if (context === undefined) return;
    context.sentAt = now();
    context.respondedAt = undefined;
  }

  /**
   * Counts the latency of a call. A failure shows only how long the endpoint takes at least: many fail at once, or because the
   * caller waits no longer.
   */
  ended(member: Member, { path, context }: HttpRequest, isFailure: boolean): void {
    if (context?.sentAt === undefined) return;
    const time = context.respondedAt ?? now();
    const tookMs = time - context.sentAt;
    context.sentAt = undefined;
    let method = this.#methods.get(path);
    if (method === undefined) {
      if (isFailure) return;
      method = { meanMs: tookMs, calls: 0 };
      this.#methods.set(path, method);
    }
    const ratio = (tookMs + NOISE_MS) / (method.meanMs + NOISE_MS);
    member.countLatency(ratio, time, isFailure);
    if (isFailure) return;
    if (method.calls < MEAN_CALLS) method.calls++;
    method.meanMs += ((tookMs - method.meanMs) * 2) / (method.calls + 1);
  }
}
