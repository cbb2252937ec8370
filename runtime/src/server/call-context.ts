/** The context of a call on a server: it ends when its exchange ends, and records how the call was answered. */
import type { ContextValues } from "../call/call.ts";
import { Code, Status } from "../call/code.ts";
import { OpenContext } from "../call/context.ts";
import { RpcError, reportRejection } from "../call/error.ts";
import type { AnsweredContext } from "../call/outcome.ts";
import type { Peer } from "../call/peer.ts";
import { onAbort } from "../call/timer.ts";
import type { HttpRequest } from "../http/exchange.ts";

type AnswerListener = (error: RpcError | undefined) => void;

export class ServerContext extends OpenContext implements AnsweredContext {
  /** The exchange. Its signal, created on first use, fires for cancellation, a lost connection and shutdown. */
  readonly #exchange: HttpRequest;
  /** Called when the call ends early. */
  onEnd: ((error: RpcError) => void) | undefined;
  onArrived: (() => void | Promise<void>) | undefined;
  /** The bytes of the messages that were sent, and received. gRPC counts them. */
  sentBytes: number | undefined;
  receivedBytes: number | undefined;
  #peer: Peer | undefined;
  #draining: AbortController | undefined;
  #removeListener: (() => void) | undefined;
  #closed = false;
  /** The step of the call that may still run when the call ends early. */
  #working: Promise<unknown> | undefined;
  #answer: RpcError | "ok" | undefined;
  /** Calls all listeners. Most calls have one at most. */
  #onAnswered: AnswerListener | undefined;

  /** The smaller timeout in milliseconds applies. `Infinity`: there is none. */
  constructor(
    exchange: HttpRequest,
    timeoutMs: number = Number.POSITIVE_INFINITY,
    maxTimeoutMs: number = Number.POSITIVE_INFINITY,
  ) {
    super({ timeoutMs: Math.min(timeoutMs, maxTimeoutMs), timeoutStatus: Status.ServerTimeout });
    this.#exchange = exchange;
  }

  override get signal(): AbortSignal | undefined {
    if (!this.limited) return this.#exchange.signal;
    const { controller } = this;
    if (this.#removeListener === undefined && !this.#closed) {
      this.#removeListener = onAbort(this.#exchange.signal, (error) => {
        // A deadline counts as passed at the accuracy of timers, although its timer may not have run yet.
        const isLate = (this.timeoutMs() ?? 1) < 1;
        controller.abort(isLate ? new RpcError(Code.DeadlineExceeded, "the deadline has passed") : error);
      });
    }
    return controller.signal;
  }

  get isAborted(): boolean | undefined {
    return this.hasEnded || this.#exchange.isAborted;
  }

  get isArriving(): boolean {
    return this.#exchange.body.whole === undefined;
  }

  /** The client of the call. Created on first use, because most calls do not read it. */
  get peer(): Peer {
    const { version, headers, authority, peer } = this.#exchange;
    this.#peer ??= {
      ...(peer ?? { address: undefined, port: undefined, protocol: version === "2" ? "h2" : "h1", tls: undefined }),
      authority: authority ?? headers.get("host"),
    };
    return this.#peer;
  }

  /** A separate signal for each call that uses it, so that the listeners of a call end with the call. */
  get draining(): AbortSignal | undefined {
    const { draining } = this.#exchange;
    if (draining === undefined) return undefined;
    if (this.#draining === undefined) {
      const controller = new AbortController();
      this.#draining = controller;
      this.onAnswered(onAbort(draining, (error) => controller.abort(error)));
    }
    return this.#draining.signal;
  }

  protected override makeValues(): ContextValues {
    const values = this.#exchange.values?.();
    if (values === undefined) return super.makeValues();
    if (typeof values?.get === "function" && typeof values.set === "function") return values;
    reportRejection("the option values", values);
    throw new TypeError("the option values must return a result of createContextValues");
  }

  /** Runs `work` and closes the context. Settles as `work` does, or rejects earlier if the call ends first. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return this.limited ? this.race(work).finally(() => this.close()) : work();
  }

  override race<T>(work: () => Promise<T>): Promise<T> {
    if (!this.limited) return work();
    return super.race(() => {
      const working = work();
      this.#working = working;
      return working;
    });
  }

  protected override end(error: RpcError): void {
    super.end(error);
    this.onEnd?.(error);
    this.waitUntil(this.#working);
  }

  override close(): void {
    super.close();
    this.#closed = true;
    this.#removeListener?.();
  }

  /** Abandons work that ignores the signal. The engine counts it as a running handler until the work settles. */
  override waitUntil(work: Promise<unknown> | undefined): void {
    super.waitUntil(work);
    if (work !== undefined) this.#exchange.waitUntil?.(work);
  }

  onAnswered(callback: AnswerListener): void {
    const earlier = this.#onAnswered;
    if (this.#answer !== undefined) callback(this.#answer === "ok" ? undefined : this.#answer);
    else if (earlier === undefined) this.#onAnswered = callback;
    else
      this.#onAnswered = (error) => {
        earlier(error);
        callback(error);
      };
  }

  /** Records that the response was created, or that the call failed with the error. Only the first call has an effect. */
  answered(error?: RpcError): void {
    if (this.#answer !== undefined) return;
    this.#answer = error ?? "ok";
    this.#onAnswered?.(error);
  }
}
