/**
 * Hedging (gRFC A6): concurrent attempts of one call. The first response or fatal error is the outcome of the call, and the
 * other attempts are cancelled.
 *
 *     answer, fatal error, end of the call   → the outcome; cancel all others
 *     non-fatal error                        → the next attempt at once
 *       with pushback of n ms                → the next attempt after n ms
 *       with pushback to stop                → no further attempts
 *     hedging delay over                     → the next attempt, unless the budget is used up
 *     no attempt running, none left          → the last error
 */

import { mayResend } from "../call/attempt.ts";
import type { Call, CallContext, CallResponse } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { endMessages, watchEnd } from "../call/message-stream.ts";
import { startTimer } from "../call/platform.ts";
import { onAbort } from "../call/timer.ts";
import {
  AttemptContext,
  attemptRequest,
  notRetried,
  type RepeatableRequest,
  reportRetry,
  withAttempts,
} from "./attempt.ts";
import { type HedgingPolicy, type RetryOptions, readPushback } from "./attempt-policy.ts";
import type { RetryThrottle } from "./retry-budget.ts";

/** Makes the attempts of a call, and settles with the first decisive outcome. */
export function hedge(
  next: Call,
  request: RepeatableRequest,
  policy: HedgingPolicy,
  throttle: RetryThrottle,
  { onRetry, ended }: { readonly onRetry?: RetryOptions["onRetry"]; readonly ended?: AbortSignal | undefined },
): Promise<CallResponse> {
  return new Promise((resolve, reject) => {
    const running = new Set<HedgeContext>();
    const tried = new Set<object>();
    let started = 0;
    let lastError: RpcError | undefined;
    let refusal: string | undefined;
    let isStopped = false;
    let isOver = false;
    let stopTimer = (): void => {};
    const links: (() => void)[] = [];

    /** Ends the call. The winner's context stays open until its response has ended. */
    const finish = (settle: () => void, reason?: RpcError): void => {
      if (isOver) return;
      isOver = true;
      stopTimer();
      for (const unlink of links) unlink();
      for (const context of running) context.cancel(reason);
      settle();
    };

    const mayStart = (): boolean => {
      refusal = undefined;
      if (isOver || isStopped || started >= policy.maxAttempts) return false;
      if (started > 0) refusal = throttle.refusal();
      return refusal === undefined;
    };

    function startLater(delayMs: number): void {
      stopTimer();
      if (mayStart()) stopTimer = startTimer(delayMs, () => start(undefined, delayMs));
    }

    function start(error: RpcError | undefined, delayMs: number): void {
      if (!mayStart()) {
        settleIfLast();
        return;
      }
      const number = ++started;
      // An attempt beside one that still runs is no retry.
      if (lastError !== undefined) throttle.retried();
      if (number > 1) {
        const { method, context } = request;
        reportRetry({ method, context, attempt: number, delayMs, error, isHedge: true }, onRetry);
      }
      const context = new HedgeContext(request.context, tried);
      running.add(context);
      const run = async (): Promise<CallResponse> => next(attemptRequest(request, number, context));
      run().then(
        (response) => won(context, response, number),
        (reason: unknown) => lost(context, RpcError.from(reason)),
      );
      if (policy.hedgingDelayMs === 0) start(undefined, 0);
      else startLater(policy.hedgingDelayMs);
    }

    function won(context: HedgeContext, response: CallResponse, number: number): void {
      if (isOver) {
        context.cancel();
        endMessages(response).catch(() => {});
        return;
      }
      running.delete(context);
      finish(() => resolve(withAttempts(context.until(response), number)));
    }

    function lost(context: HedgeContext, error: RpcError): void {
      running.delete(context);
      context.release();
      if (isOver) return;
      lastError = error;
      const pushback = readPushback(error);
      const isFatal = !mayResend(context.attempt.outcome, "policy") || !policy.codes.has(error.code);
      if (!isFatal || pushback === "stop") throttle.failed();
      if (isFatal) finish(() => reject(error));
      else if (pushback === "stop") {
        isStopped = true;
        stopTimer();
        settleIfLast();
      } else if (pushback !== undefined && mayStart()) startLater(pushback);
      else start(error, 0);
    }

    function settleIfLast(): void {
      const failure = lastError;
      if (running.size > 0 || failure === undefined) return;
      const reason = refusal;
      finish(() => reject(reason === undefined ? failure : notRetried(request.method, failure, reason)));
    }

    for (const signal of [request.context.signal, ended]) {
      // The callback runs at once if the signal has already fired.
      if (!isOver) links.push(onAbort(signal, (error) => finish(() => reject(error), error)));
    }
    if (!isOver) start(undefined, 0);
  });
}

/** The context of one attempt, with a signal of its own. */
class HedgeContext extends AttemptContext {
  readonly #controller = new AbortController();
  /** Ends the attempt: its signal does not fire afterwards. */
  readonly release: () => void;

  constructor(call: CallContext, tried: Set<object>) {
    super(call, tried);
    this.release = onAbort(call.signal, (error) => this.#controller.abort(error));
  }

  override get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Cancels the attempt, by default because another one has won. */
  cancel(reason: RpcError = new RpcError(Code.Canceled, "another attempt of the call has answered")): void {
    this.release();
    this.#controller.abort(reason);
  }

  /** Keeps the context until the response has ended. A unary response has already ended. */
  until(response: CallResponse): CallResponse {
    if (!response.stream) {
      this.release();
      return response;
    }
    return { ...response, messages: watchEnd(response.messages, this.release) };
  }
}
