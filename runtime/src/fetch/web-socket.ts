/**
 * Connections of HTTP/2 over WebSockets, for pages: the subprotocol `h2ts`, in which binary messages are the byte stream of
 * HTTP/2 with prior knowledge (RFC 9113, section 3.3), and the close of the WebSocket is its end.
 */
import { joinAll } from "../call/bytes.ts";
import { startTimer } from "../call/platform.ts";
import { onAbort } from "../call/timer.ts";
import { ConnectionBackoff } from "../connection/attempts.ts";
import { type Connect, type Connection, DEFAULT_CONNECT_TIMEOUT_MS } from "../connection/connection.ts";
import { CLOSED_BY_PEER, connectionError } from "../connection/error.ts";
import { Http2Connection } from "../connection/http2-connection.ts";
import { Pool } from "../connection/pool.ts";
import { DEFAULT_TIMES } from "../connection/pooled-connection.ts";
import type { ByteStream } from "../connection/socket.ts";
import type { Connections } from "../http/exchange.ts";
import { WITHOUT_OTHERS } from "../http/transparent-retry.ts";
import { SUBPROTOCOL } from "../websocket/tunnel.ts";

/** Maximum size of a message: a larger one would occupy the event loop of the receiving page for long. */
const MAX_MESSAGE_BYTES = 64 * 1024;
/** Bytes in the buffer of the WebSocket above which nothing more is written (backpressure). */
const FULL_BUFFER_BYTES = 64 * 1024;
/** Interval at which the buffer is read while it is full, because there is no event for it, in milliseconds. */
const POLL_MS = 5;
/** Codes of a normal end: closed, going away, no code, and no close frame (RFC 6455, section 7.4.1). */
const ENDS = [1000, 1001, 1005, 1006];

/** The cause for a WebSocket that did not open, which browsers do not tell. */
const NOT_OPENED = new Error(
  "the WebSocket was refused: no server listens there with the option webSocket, or its cors does not allow this origin",
);

/** A WebSocket as a byte stream. Each event has one listener, the last one. */
class WebSocketStream implements ByteStream {
  destroyed = false;
  writableEnded = false;
  readonly writableFinished = true;
  errored: Error | null = null;
  readonly #socket: WebSocket;
  readonly #listeners: Record<string, (argument: never) => void> = {};
  #isCorked = false;
  #stopPoll = (): void => {};
  #parts: Uint8Array[] = [];
  #onWritten: (() => void) | undefined;
  #isPaused = false;
  #isClosed = false;
  /** Messages that arrived during a pause. The windows of HTTP/2 bound them, because a WebSocket cannot be paused. */
  #received: Uint8Array[] = [];

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => this.#receive(data);
    // Browsers do not tell the reason to pages.
    socket.onerror = ({ message }: { readonly message?: string }) => {
      if (message !== undefined) this.errored = new Error(message);
    };
    socket.onclose = ({ code, reason }) => {
      if (!ENDS.includes(code)) this.errored = new Error(`the server closed the WebSocket with code ${code} ${reason}`);
      this.#isClosed = true;
      this.#checkBuffer();
      this.#pass();
    };
  }

  get writableLength(): number {
    const { bufferedAmount } = this.#socket;
    return bufferedAmount <= FULL_BUFFER_BYTES || this.#isClosed || this.destroyed ? 0 : bufferedAmount;
  }

  get writableNeedDrain(): boolean {
    return this.writableLength > 0;
  }

  on(event: string, listener: (argument: never) => void): void {
    this.#listeners[event] = listener;
  }

  /** The end is reported before anyone can wait for it. */
  once(): void {}

  write(bytes: Uint8Array, onWritten?: () => void): void {
    this.#parts.push(bytes);
    this.#onWritten = onWritten;
    if (!this.#isCorked) this.uncork();
  }

  cork(): void {
    this.#isCorked = true;
  }

  uncork(): void {
    this.#isCorked = false;
    const bytes = joinAll(this.#parts);
    this.#parts = [];
    for (let at = 0; at < bytes.length; at += MAX_MESSAGE_BYTES) {
      this.#socket.send(bytes.subarray(at, at + MAX_MESSAGE_BYTES));
    }
    this.#poll();
  }

  end(): void {
    this.writableEnded = true;
    this.#socket.close(1000);
  }

  destroy(error?: Error): void {
    if (this.destroyed) return;
    this.errored ??= error ?? null;
    this.#socket.close(1000);
    this.#received = [];
    this.#close();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#pass();
  }

  #emit(event: string, argument?: unknown): void {
    this.#listeners[event]?.call(this, argument as never);
  }

  #receive(data: unknown): void {
    if (this.destroyed) return;
    // The time for another write, in pages whose timers the browser slows down because they are hidden.
    this.#checkBuffer();
    if (data instanceof ArrayBuffer) this.#received.push(new Uint8Array(data));
    else this.destroy(new Error("the server sent a text message"));
    this.#pass();
  }

  /** Passes the received messages on, and then the end. */
  #pass(): void {
    while (!this.#isPaused && this.#received.length > 0) this.#emit("data", this.#received.shift());
    if (this.#isClosed && this.#received.length === 0 && !this.destroyed) this.#close();
  }

  #close(): void {
    this.destroyed = true;
    this.#checkBuffer();
    queueMicrotask(() => this.#emit("close"));
  }

  #poll(): void {
    this.#stopPoll();
    if (this.writableLength > 0) this.#stopPoll = startTimer(POLL_MS, () => this.#poll());
    else this.#checkBuffer();
  }

  #checkBuffer(): void {
    if (this.writableLength > 0) return;
    const onWritten = this.#onWritten;
    this.#onWritten = undefined;
    onWritten?.();
  }
}

/** Returns the URL of WebSockets. Throws a `TypeError` for an invalid base URL. */
function webSocketUrl(baseUrl: string): URL {
  const { location } = globalThis as { readonly location?: { readonly href: string } };
  const url = URL.canParse(baseUrl, location?.href) ? new URL(baseUrl, location?.href) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol) || url.search + url.hash !== "") {
    throw new TypeError(`baseUrl "${baseUrl}" must start with http://, https:// or, in a page, / and have no query`);
  }
  url.protocol = url.protocol.replace("http", "ws");
  return url;
}

/** Makes a connection. Rejects if the WebSocket does not open, or no SETTINGS frame arrives on it. */
function connectTo(url: URL): Connect {
  const { host } = url;
  return (owner, signal) =>
    new Promise<Connection>((resolve, reject) => {
      if (!globalThis.WebSocket) throw new Error("this platform has no WebSocket: Node has it since version 22");
      const socket = new WebSocket(url, SUBPROTOCOL);
      const stream = new WebSocketStream(socket);
      const release: (() => void)[] = [];
      const settle = (): void => {
        for (const stop of release) stop();
      };
      let unexplained = NOT_OPENED;
      const fail = (cause = stream.errored ?? unexplained): void => {
        settle();
        stream.destroy();
        reject(connectionError(cause, host));
      };
      stream.on("close", () => fail());
      const noConnection = new Error(`no connection within ${DEFAULT_CONNECT_TIMEOUT_MS} ms`);
      release.push(startTimer(DEFAULT_CONNECT_TIMEOUT_MS, () => fail(noConnection)));
      release.push(onAbort(signal, fail));
      socket.onopen = () => {
        unexplained = CLOSED_BY_PEER;
        const connection = new Http2Connection(stream, { origin: { protocol: "http:", host }, peer: host }, owner, {
          onReady() {
            settle();
            resolve(connection);
          },
          onFailed: fail,
        });
      };
    });
}

/**
 * Creates the connections to a server: one WebSocket at a time, which the first exchange opens, and the first one after its loss
 * opens again. Throws a `TypeError` for an invalid base URL.
 */
export function connectWebSocket(baseUrl: string): Connections {
  const url = webSocketUrl(baseUrl);
  const pool = new Pool(connectTo(url), {
    ...DEFAULT_TIMES,
    peer: url.host,
    maxConnections: 1,
    waitForReady: false,
    backoff: new ConnectionBackoff(),
  });
  return {
    exchange: pool.observed(WITHOUT_OTHERS),
    close: () => pool.close(),
    destroy: (reason) => pool.destroy(reason),
  };
}
