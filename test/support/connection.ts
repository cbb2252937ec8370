/** Connections on which tests write bytes that no client of triple-es would send. */
import { once } from "node:events";
import {
  type ClientHttp2Session,
  connect,
  type OutgoingHttpHeaders,
  type SecureClientSessionOptions,
} from "node:http2";
import type { Duplex } from "node:stream";
import { onTestFinished } from "vitest";
import { openSocket } from "./server.ts";

/** A response over either version of HTTP. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** For HTTP/2 only. */
  readonly trailers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

/** A connection that sends HTTP/1.1 requests one after the other. */
export class Http1Connection {
  readonly #socket: Duplex;
  #buffer = Buffer.alloc(0);
  #ended = false;
  #wake: () => void = () => {};

  constructor(socket: Duplex) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.#buffer = Buffer.concat([this.#buffer, chunk]);
      this.#wake();
    });
    socket.on("close", () => {
      this.#ended = true;
      this.#wake();
    });
  }

  static async open(port: number): Promise<Http1Connection> {
    return new Http1Connection(await openSocket(port));
  }

  destroy(): void {
    this.#socket.destroy();
  }

  write(bytes: string | Uint8Array): void {
    this.#socket.write(bytes);
  }

  /** Writes bytes, and waits until they have been sent. */
  flush(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve) => this.#socket.write(bytes, () => resolve()));
  }

  /** Sends a request with a body and reads the response. */
  async post(path: string, headers: Record<string, string>, body: string | Uint8Array): Promise<Answer> {
    const fields = { host: "127.0.0.1", "content-length": String(Buffer.byteLength(body)), ...headers };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    this.write(`POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
    this.write(body);
    return this.answer();
  }

  /** Reads the next response. */
  async answer(): Promise<Answer> {
    const { status, headers } = await this.interim();
    const length = Number(headers["content-length"]);
    if (!Number.isInteger(length)) throw new Error(`a response without content-length: ${status}`);
    await this.#until(() => this.#buffer.byteLength >= length);
    return { status, headers, trailers: {}, body: this.#take(length) };
  }

  /** Reads the head of a response, which is the whole of an interim response. */
  async interim(): Promise<Pick<Answer, "status" | "headers">> {
    const head = await this.#until(() => this.#buffer.indexOf("\r\n\r\n") + 1);
    const [statusLine = "", ...lines] = this.#take(head + 3)
      .toString("latin1")
      .trimEnd()
      .split("\r\n");
    const headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    return { status: Number(statusLine.split(" ")[1]), headers };
  }

  async #until<T>(test: () => T): Promise<T> {
    for (;;) {
      const result = test();
      if (result) return result;
      if (this.#ended) throw new Error(`the connection was closed after: ${this.#buffer.toString("latin1")}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #take(length: number): Buffer {
    const taken = this.#buffer.subarray(0, length);
    this.#buffer = this.#buffer.subarray(length);
    return taken;
  }
}

/** A connection that speaks HTTP/2. */
export class Http2Connection {
  readonly session: ClientHttp2Session;

  constructor(baseUrl: string, options: SecureClientSessionOptions = {}) {
    this.session = connect(baseUrl, options);
    this.session.on("error", () => {});
    onTestFinished(() => this.session.destroy());
  }

  /** Sends a request with a body and reads the response. Rejects if the stream is reset before the response. */
  async post(path: string, headers: OutgoingHttpHeaders, ...body: (string | Uint8Array)[]): Promise<Answer> {
    const stream = this.session.request({ ":method": "POST", ":path": path, ...headers });
    let trailers: Record<string, string> = {};
    stream.on("trailers", (received) => {
      trailers = received as Record<string, string>;
    });
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    const closed = once(stream, "close");
    for (const chunk of body) stream.write(chunk);
    stream.end();
    const [received] = (await Promise.race([
      once(stream, "response"),
      closed.then(() => {
        throw new Error(`the stream was reset with code ${stream.rstCode}`);
      }),
    ])) as [Record<string, string>];
    await closed;
    return { status: Number(received[":status"]), headers: received, trailers, body: Buffer.concat(chunks) };
  }
}

/** Returns a gRPC message in its envelope. */
export function envelope(data: string | Uint8Array, flag = 0): Buffer {
  const bytes = Buffer.from(data as Uint8Array);
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(bytes.byteLength, 1);
  return Buffer.concat([prefix, bytes]);
}
