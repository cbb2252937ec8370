/** A client's connection without I/O, and what it does with the bytes of a server. */
import { ClientConnection } from "../../runtime/src/http1/client.ts";
import type { ClientExchange, ResponseSink } from "../../runtime/src/http1/exchange.ts";
import type { ResponseHead } from "../../runtime/src/http1/response.ts";

/** The response of an exchange as a client receives it: its status, its body, and how it ended. */
export class Seen implements ResponseSink {
  /** 0 until the head has been received. */
  status = 0;
  fields: readonly string[] = [];
  body = "";
  end: "whole" | "lost" | "open" = "open";
  isClosed = false;
  exchange: ClientExchange | undefined;
  onResponse({ status, fields }: ResponseHead): void {
    this.status = status;
    this.fields = fields;
  }
  onData(bytes: Uint8Array): void {
    this.body += Buffer.from(bytes).toString("latin1");
    this.exchange?.consumed(bytes.length);
  }
  onEnd(): void {
    this.end = "whole";
  }
  onReset(): void {
    this.end = "lost";
  }
  onDrain(): void {}
  onClosed(): void {
    this.isClosed = true;
  }
}

/** A client that sends the next of its requests when the exchange before it is over. */
export class Client {
  readonly seen: Seen[] = [];
  readonly connection: ClientConnection;
  error: string | undefined;
  #left: number;
  readonly #method: string;

  constructor(requests = 2, method = "POST") {
    this.#left = requests;
    this.#method = method;
    this.connection = new ClientConnection(
      {
        onPause() {},
        onOver: (_, error) => {
          this.error = error?.message;
        },
      },
      {
        output: { wake() {}, slab: () => new Uint8Array(64 * 1024) },
        host: "a",
        maxHeadBytes: 2048,
      },
    );
    this.next();
  }

  next(body: Uint8Array | null = new Uint8Array()): Seen {
    const seen = new Seen();
    this.#left--;
    this.seen.push(seen);
    const head = { method: this.#method, path: "/", headers: { raw: [], frozen: false } };
    seen.exchange = this.connection.request(head, seen, body ?? undefined);
    return seen;
  }

  /** Receives text, in which ¶ is CRLF, in chunks that end at the given positions. */
  receive(text: string, ends: readonly number[] = []): this {
    return this.receiveBytes(text.replaceAll("¶", "\r\n"), ends);
  }

  /** Receives bytes, as Latin-1. */
  receiveBytes(text: string, ends: readonly number[] = []): this {
    const bytes = new Uint8Array(Buffer.from(text, "latin1"));
    let start = 0;
    for (const end of [...ends, bytes.length]) {
      if (end <= start || end > bytes.length) continue;
      this.connection.receive(bytes.slice(start, end));
      if (this.#left > 0 && this.seen.at(-1)?.isClosed && !this.connection.isOver) this.next();
      start = end;
    }
    return this;
  }

  end(): this {
    this.connection.receiveEnd();
    return this;
  }

  get results(): unknown[] {
    return this.seen.map(({ status, body, end }) => [status, body, end]);
  }
}
