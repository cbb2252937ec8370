/**
 * The exchange with a target: a picker chooses the endpoint of each request. A request that no server has processed is
 * sent to another endpoint (transparent retry). A request that may have been processed is not: retry policies decide
 * about it.
 */
import { Code } from "../call/code.ts";
import { noteObstacle } from "../call/context.ts";
import { subscribed } from "../call/diagnostics.ts";
import { abortError, RpcError } from "../call/error.ts";
import type { Metadata } from "../call/metadata.ts";
import { now } from "../call/platform.ts";
import { delay } from "../call/timer.ts";
import type { Exchange, ExchangeObserver, HttpRequest, HttpResponse } from "../http/exchange.ts";
import { ReplayBody } from "../http/replay.ts";
import {
  ExchangeFailure,
  errorOf,
  mayRetry,
  outcomeOf,
  reportTransparentRetry,
  TRANSPARENT_RETRY_DELAYS_MS,
  type TransparentRetryHook,
  UNOBSERVED,
} from "../http/transparent-retry.ts";
import type { Balancer, RoutedPicker } from "./balancer.ts";
import { CallLimiter, type EndpointLimits } from "./call-limiter.ts";
import { listFailures } from "./endpoint.ts";
import { asFault, faultOf, hasCodeInBody } from "./fault.ts";
import { LatencyMeter } from "./latency.ts";
import type { Member } from "./member.ts";
import { takeCallReport } from "./policy/weighted-round-robin.ts";
import type { TargetDriver } from "./target.ts";

export interface BalanceOptions extends EndpointLimits {
  /** The default of `waitForReady` for calls that do not set it. Default: false. */
  readonly waitForReady?: boolean | undefined;
  /** Called for each transparent retry on another endpoint, before its delay. */
  readonly onTransparentRetry?: TransparentRetryHook | undefined;
  /** The policy of the options, if there is one. */
  readonly balancer?: Balancer | undefined;
}

/** Makes the exchange with the endpoints of a target. */
export function balance(target: TargetDriver, options: BalanceOptions = {}): Exchange {
  const { waitForReady: waitByDefault = false, onTransparentRetry, balancer } = options;
  const { maxRequestsPerEndpoint, maxPendingRequests } = options;
  const limiter =
    maxRequestsPerEndpoint === undefined ? undefined : new CallLimiter(maxRequestsPerEndpoint, maxPendingRequests);
  if (limiter !== undefined) target.onChange = () => limiter.wake(Number.POSITIVE_INFINITY);
  /**
   * True if pickers are functions of the user, which must run in the asynchronous context of the call
   * (AsyncLocalStorage).
   */
  const isOwn = balancer !== undefined && balancer.policy === undefined;
  const { name, ready } = target;
  const latencies = new LatencyMeter();

  function exchange(request: HttpRequest): Promise<HttpResponse> {
    target.used = true;
    const { context } = request;
    if (context !== undefined) context.target = name;
    const { picker } = target.ready;
    const member = picker === undefined || request.body.whole === undefined ? undefined : pick(picker, request);
    return member === undefined ? exchangeSlowly(request) : attempt(member, request);
  }

  /** Picks an endpoint, one that earlier attempts of the call were not sent to if there is one. `undefined`: none yet. */
  function pick(picker: RoutedPicker, request: HttpRequest): Member | undefined {
    const tried = request.context?.attempt?.tried;
    const other = tried === undefined || tried.size === 0 ? undefined : target.ready.pickOther(request, tried);
    const member = other ?? (picker(request) as Member | undefined);
    return member !== undefined && limiter?.isFull(member) ? pickFree(request, limiter) : member;
  }

  /** Picks an endpoint below the limit, after at most `picks` picks of the policy. */
  function pickFree(request: HttpRequest, { isFull }: CallLimiter, picks?: number): Member | undefined {
    const full = ready.among(request).filter(isFull);
    const tried = request.context?.attempt?.tried ?? [];
    return (
      ready.pickOther(request, new Set([...tried, ...full]), picks) ?? ready.pickOther(request, new Set(full), picks)
    );
  }

  function exchangeOf(member: Member, onFailure: ExchangeObserver["onFailure"]): Exchange {
    const observer = createObserver(member, onFailure);
    return limiter?.exchangeOf(member, observer) ?? member.exchangeOf(observer);
  }

  function attempt(member: Member, request: HttpRequest): Promise<HttpResponse> {
    reportPick(member, request, "");
    request.context?.attempt?.tried.add(member);
    noteSent(request);
    if (isOwn) {
      member.observed ??= exchangeOf(member, UNOBSERVED.onFailure);
      return member.observed(request).catch((reason) => repick(request, member, reason));
    }
    member.observed ??= exchangeOf(member, (failed, reason) => repick(failed, member, reason));
    return member.observed(request);
  }

  /** Measures the latency of the request if the policy compares latencies. */
  function noteSent(request: HttpRequest): void {
    if (ready.balancer.policy === "least_request") latencies.sent(request);
  }

  /** Creates an observer of exchanges with an endpoint, which counts responses. */
  function createObserver(member: Member, onFailure: ExchangeObserver["onFailure"]): ExchangeObserver {
    /** The headers and trailers of the last response that was a success. Engines repeat such objects. */
    let plainHeaders: Metadata | undefined;
    let plainTrailers: Metadata | undefined;
    return {
      onFailure,
      onEnd(request, response, end) {
        if (end === "closing") return;
        const { status, headers, trailers } = response;
        const { loads } = ready.balancer;
        if (loads !== undefined) takeCallReport(member, response, loads, now());
        if (end === "complete" && status === 200 && headers === plainHeaders && trailers === plainTrailers) {
          member.countSuccess();
          latencies.ended(member, request, false);
          return;
        }
        const { context } = request;
        if (context !== undefined && hasCodeInBody(request.headers, response, end)) {
          context.onCode = (code) => count(member, asFault(code));
          latencies.ended(member, request, status !== 200);
          return;
        }
        const fault = faultOf(request.headers, response, end);
        count(member, fault);
        latencies.ended(member, request, fault !== undefined);
        if (fault !== undefined || end !== "complete" || !headers.frozen || !trailers.frozen) return;
        plainHeaders = headers;
        plainTrailers = trailers;
      },
    };
  }

  /** Waits for a ready endpoint, and makes an exchange whose body can be read several times. */
  async function exchangeSlowly(request: HttpRequest): Promise<HttpResponse> {
    const { body } = request;
    if (body.whole !== undefined) return attempt(await pickWhenReady(request), request);
    const replay = new ReplayBody(body);
    try {
      return await attempt(await pickWhenReady(request), { ...request, body: replay });
    } finally {
      replay.settle();
    }
  }

  async function repick(request: HttpRequest, first: Member, reason: unknown): Promise<HttpResponse> {
    const failed = new Map<Member, unknown>();
    let member = first;
    let error = reason;
    for (let repicks = 0; ; repicks++) {
      failed.set(member, error);
      countFailure(member, error);
      if (outcomeOf(error) === "unknown") latencies.ended(member, request, true);
      const delayMs = TRANSPARENT_RETRY_DELAYS_MS[repicks];
      if (delayMs === undefined || !mayRetry(request, error, "otherEndpoint")) throw explain(failed, error);
      const tried = request.context?.attempt?.tried;
      const full = limiter === undefined ? [] : target.ready.among(request).filter(limiter.isFull);
      const other = target.ready.pickOther(request, new Set([...failed.keys(), ...(tried ?? []), ...full]));
      // Only an endpoint that was tried before needs the delay.
      reportTransparentRetry(request, other === undefined ? delayMs : 0, error, onTransparentRetry);
      if (other === undefined) {
        if (delayMs > 0) await delay(delayMs, request.signal);
        member = await pickWhenReady(request, failed);
      } else member = other;
      reportPick(member, request, ", after a failure");
      tried?.add(member);
      noteSent(request);
      try {
        return await exchangeOf(member, UNOBSERVED.onFailure)(request);
      } catch (next) {
        error = next;
      }
    }
  }

  /**
   * Resolves with an endpoint once one is ready. Rejects if none will be ready soon, unless the request waits for that
   * too (wait for ready).
   */
  async function pickWhenReady(request: HttpRequest, failed?: ReadonlyMap<Member, unknown>): Promise<Member> {
    const { signal, context } = request;
    const waitForReady = context?.waitForReady ?? waitByDefault;
    for (;;) {
      if (signal?.aborted) throw abortError(signal);
      target.wake();
      const { picker } = target.ready;
      const member = picker && pick(picker, request);
      if (member !== undefined) {
        noteObstacle(signal, undefined);
        limiter?.reserve(member);
        return member;
      }
      const failure = target.failure();
      if (failure !== undefined && (!waitForReady || target.isClosed)) {
        throw failed === undefined ? failure : explain(failed, failure);
      }
      if (limiter !== undefined && isBlocked(request, limiter)) {
        noteObstacle(signal, "endpoint below the limit maxRequestsPerEndpoint");
        // The call whose end wakes this one has another asynchronous context.
        const repickOne = () => ready.picker && (isOwn ? pickFree(request, limiter, 0) : pick(ready.picker, request));
        const reserved = await limiter.wait(name, repickOne, () => isBlocked(request, limiter), signal);
        if (reserved === undefined) continue;
        noteObstacle(signal, undefined);
        return reserved;
      }
      const isUnpicked = isOwn && target.ready.among(request).length > 0;
      noteObstacle(signal, failure ?? (isUnpicked ? "pick of the balancer" : target.awaited));
      await target.changed(signal);
    }
  }

  function isBlocked(request: HttpRequest, { isFull }: CallLimiter): boolean {
    const members = target.ready.picker === undefined ? [] : target.ready.among(request);
    return members.length > 0 && members.every(isFull);
  }

  /** Counts a response, as a failure of its endpoint if it has the code of a fault. */
  function count(member: Member, fault: Code | undefined): void {
    if (fault === undefined) {
      member.countSuccess();
      return;
    }
    const error = new RpcError(fault, `${member.endpoint.address} answered with an error`);
    // In a microtask, because hooks of the user may be called.
    queueMicrotask(() => target.failed(member, error));
  }

  /**
   * Counts an error as a failure of its endpoint, if the endpoint may have caused it. This side has caused the errors that are
   * no `ExchangeFailure`, of which a deadline tells something about the endpoint.
   */
  function countFailure(member: Member, reason: unknown): void {
    const error = RpcError.from(errorOf(reason));
    const outcome = outcomeOf(reason);
    if (outcome === "notSent") target.unreachable(member, error);
    else if (outcome === "unprocessed" || outcome === "queued") return;
    else if (reason instanceof ExchangeFailure || error.code === Code.DeadlineExceeded) target.failed(member, error);
  }

  return exchange;
}

function reportPick({ endpoint: { address } }: Member, { path }: HttpRequest, suffix: string): void {
  subscribed("pick")?.publish({ path, address, text: `picked ${address} for ${path}${suffix}` });
}

/** The error of a request that has tried several endpoints: it names up to three of them, each with its reason. */
function explain(failed: ReadonlyMap<Member, unknown>, last: unknown): unknown {
  const error = errorOf(last);
  if (failed.size < 2 || outcomeOf(last) === "unknown") return error;
  const reasons = [...failed].map(
    ([{ endpoint }, reason]) => [endpoint, RpcError.from(errorOf(reason)).rawMessage] as const,
  );
  return new RpcError(Code.Unavailable, `no endpoint accepted the call: ${listFailures(reasons)}`, { cause: error });
}
