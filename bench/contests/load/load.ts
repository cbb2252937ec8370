/**
 * A load on a server, and its result.
 */

import { Latencies } from "../../latencies.ts";
import { repeatCount, talkCount } from "../../messages/echo.ts";

export interface Load {
  readonly protocol: "grpc" | "http-rpc";
  /** Encoding of the message. `json` is supported only over `http-rpc`. */
  readonly codec: "proto" | "json";
  /**
   * The called method: unary, or, over `grpc`, server streaming (`repeat`) or bidirectional (`talk`). A message of
   * `blob64k` or `blob1m` has so many bytes. The others are messages of codecs, without a call.
   */
  readonly method: "echo" | "order" | "blob64k" | "blob1m" | "repeat" | "talk" | "words" | "numbers" | "blobs";
  /** The measured part of a codec. */
  readonly part?: "encode" | "decode";
  readonly connections: number;
  /** Calls open at any time on each connection. */
  readonly inFlight: number;
  /** The version of HTTP for `http-rpc`. Default: 1.1. */
  readonly http?: "1.1" | "2";
  readonly tls?: boolean;
  /** Every call has a deadline, a token, and a trace and request number that no other call has. */
  readonly hasHeaders?: boolean;
  /** Number of methods that are called in turn. */
  readonly methods?: number;
}

/** True for methods whose calls have several messages. */
export function isStreaming(method: Load["method"]): boolean {
  return method === "repeat" || method === "talk";
}

export interface Tally {
  readonly calls: number;
  /** Number of messages received. */
  readonly messages: number;
  /** Number of wrong messages and of reset streams. */
  readonly errors: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** The calls of one run, recorded as they end, for all connections. */
export class Score {
  readonly latencies = new Latencies();
  readonly startedAt = performance.now();
  readonly #messagesPerCall: number;
  errors = 0;

  constructor(method: Load["method"]) {
    this.#messagesPerCall = method === "repeat" ? repeatCount : method === "talk" ? talkCount : 1;
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
  /** Keeps calls in flight until the given time of `performance.now()`. Settles when the last call has ended. */
  run(until: number, score: Score): Promise<void>;
  close(): void;
}
