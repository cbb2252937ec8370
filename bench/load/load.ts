/**
 * A load on a server, and its result.
 */
import { repeatCount } from "../echo.ts";
import { Latencies } from "../latencies.ts";

export interface Load {
  readonly protocol: "grpc" | "http-rpc";
  /** Encoding of the message. `json` is supported only over `http-rpc`. */
  readonly codec: "proto" | "json";
  /** The called method: unary, or, over `grpc`, server streaming (`repeat`). */
  readonly method: "echo" | "order" | "repeat";
  readonly connections: number;
  /** Calls open at any time on each connection. */
  readonly inFlight: number;
}

export interface Tally {
  readonly calls: number;
  /** Messages that answered them. */
  readonly messages: number;
  /** Answers that were not the message that was sent, and streams that were reset. */
  readonly errors: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** The calls of one run, as they end. Shared by all its connections. */
export class Score {
  readonly latencies = new Latencies();
  readonly startedAt = performance.now();
  readonly #messagesPerCall: number;
  errors = 0;

  constructor(method: Load["method"]) {
    this.#messagesPerCall = method === "repeat" ? repeatCount : 1;
  }

  tally(): Tally {
    return {
      calls: this.latencies.count,
      messages: this.latencies.count * this.#messagesPerCall,
      errors: this.errors,
      seconds: (performance.now() - this.startedAt) / 1000,
      p50Ms: this.latencies.quantile(0.5),
      p99Ms: this.latencies.quantile(0.99),
    };
  }
}

/** One connection to the server under load. */
export interface Connection {
  /** Keeps calls in flight until the given time of `performance.now()`, and settles when the last one has ended. */
  run(until: number, score: Score): Promise<void>;
  close(): void;
}
