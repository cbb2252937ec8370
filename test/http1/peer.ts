/** A server's connection without I/O, and what it does with the bytes of a client. */
import { STATUS_CODES } from "node:http";
import type { ExchangeSink, ServerExchange } from "../../runtime/src/http1/exchange.ts";
import type { Http1Limits } from "../../runtime/src/http1/limits.ts";
import type { RequestHead } from "../../runtime/src/http1/request.ts";
import { ServerConnection } from "../../runtime/src/http1/server.ts";

const LIMITS: Http1Limits = { headBytes: 32 * 1024, headMs: 10_000, requestMs: 60_000, idleMs: 60_000 };

/** A request as the engine reports it. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly fields: readonly string[];
  readonly body: string;
  /** The end of the request: whole, or lost in its body. */
  readonly end: "whole" | "lost" | "open";
}

class Recorded implements ExchangeSink {
  readonly head: RequestHead;
  readonly exchange: ServerExchange;
  readonly chunks: string[] = [];
  end: Seen["end"] = "open";
  drained = 0;
  constructor(exchange: ServerExchange, head: RequestHead, early: readonly Uint8Array[]) {
    this.exchange = exchange;
    this.head = head;
    for (const bytes of early) this.onData(bytes);
    if (exchange.ended) this.end = "whole";
  }
  onData(bytes: Uint8Array): void {
    this.chunks.push(Buffer.from(bytes).toString("latin1"));
    this.exchange.consumed(bytes.length);
  }
  onEnd(): void {
    this.end = "whole";
  }
  onReset(): void {
    this.end = "lost";
  }
  onDrain(): void {
    this.drained++;
  }
  onClosed(): void {}
}

export class Peer {
  readonly requests: Recorded[] = [];
  readonly connection: ServerConnection;
  /** Statuses and messages of the answers to invalid requests. */
  readonly refusals: [status: number, message: string][] = [];
  over: "ended" | "lost" | undefined;
  isPaused = false;
  /** Everything that has been sent. */
  output = "";

  /** `answer` is called for each request. By default it is answered as soon as it is whole. */
  constructor(limits: Partial<Http1Limits> = {}, answer?: (exchange: ServerExchange, head: RequestHead) => void) {
    this.connection = new ServerConnection(
      {
        onRequest: (exchange, head, early) => {
          const recorded = new Recorded(exchange, head, early);
          this.requests.push(recorded);
          exchange.sink = recorded;
          answer?.(exchange, head);
          if (answer === undefined && exchange.ended) respond(exchange);
          else if (answer === undefined) {
            recorded.onEnd = () => {
              recorded.end = "whole";
              respond(exchange);
            };
          }
        },
        onInvalid: (exchange, { status, message }) => {
          this.refusals.push([status, message]);
          exchange.respond(status, { raw: [], frozen: false }, Buffer.from(message));
        },
        onPause: (isPaused) => {
          this.isPaused = isPaused;
        },
        onOver: (isLost) => {
          this.over = isLost ? "lost" : "ended";
        },
      },
      {
        output: { wake() {}, slab: () => new Uint8Array(64 * 1024) },
        limits: { ...LIMITS, ...limits },
        dateLine: () => "",
        reasons: STATUS_CODES,
      },
    );
  }

  /** Passes bytes, in chunks that end at the given positions. */
  receive(text: string, ends: readonly number[] = []): this {
    const bytes = new Uint8Array(Buffer.from(text, "latin1"));
    let start = 0;
    for (const end of [...ends, bytes.length]) {
      if (end <= start || end > bytes.length) continue;
      // Each chunk has memory of its own, as a read of a socket has.
      this.connection.receive(bytes.slice(start, end));
      start = end;
    }
    return this;
  }

  /** Takes the output. */
  take(budget = 128 * 1024): string {
    let text = "";
    do {
      for (const part of this.connection.take(budget).parts) text += Buffer.from(part).toString("latin1");
    } while (this.connection.hasMore);
    this.output += text;
    return text;
  }

  get seen(): Seen[] {
    return this.requests.map(({ head: { method, path, fields }, chunks, end }) => ({
      method,
      path,
      fields,
      body: chunks.join(""),
      end,
    }));
  }

  /** The statuses of the responses that have been sent. */
  get statuses(): number[] {
    this.take();
    return Array.from(this.output.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status]) => Number(status));
  }
}

export function respond(exchange: ServerExchange, body = ""): void {
  exchange.respond(200, { raw: [], frozen: false }, Buffer.from(body));
}
