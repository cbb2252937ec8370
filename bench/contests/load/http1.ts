/**
 * Calls of sub-protocol A over one persistent HTTP/1.1 connection. The bytes of the request are constant; of a response,
 * only the status and the body are parsed.
 */
import { connect, type Socket } from "node:net";
import { echoJson, echoJsonArguments, echoPath, echoProto } from "../../messages/echo.ts";
import type { Connection, Load, Score } from "./load.ts";

const requests = { json: request("json", echoJsonArguments), proto: request("proto", echoProto) };
const answers = { json: echoJson, proto: Buffer.from(echoProto) };

export function openHttp1(port: number, { codec }: Load): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const connection = new Http1Connection(port, codec, () => resolve(connection), reject);
  });
}

class Http1Connection implements Connection {
  readonly #socket: Socket;
  readonly #request: Buffer;
  readonly #answer: Buffer;
  /** Rejects the promise of the run, or of opening before the first run. */
  #failed: (error: Error) => void;
  #finished = () => {};
  #until = 0;
  #score: Score | undefined;
  #startedAt = 0;
  /** The start of a response whose end has not arrived. */
  #rest = Buffer.alloc(0);

  constructor(port: number, codec: Load["codec"], opened: () => void, failed: (error: Error) => void) {
    this.#request = requests[codec];
    this.#answer = answers[codec];
    this.#failed = failed;
    const callback = (length: number, buffer: Uint8Array) => {
      this.#receive(Buffer.from(buffer.buffer, buffer.byteOffset, length));
      return true;
    };
    const onread = { buffer: Buffer.allocUnsafeSlow(64 * 1024), callback };
    this.#socket = connect({ port, host: "127.0.0.1", noDelay: true, onread }, opened);
    this.#socket.on("error", (error) => this.#failed(error));
    this.#socket.on("close", () => this.#failed(new Error("the server closed the connection")));
  }

  run(until: number, score: Score): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#finished = resolve;
      this.#failed = reject;
      this.#until = until;
      this.#score = score;
      this.#call();
    });
  }

  close(): void {
    this.#failed = () => {};
    this.#socket.destroy();
  }

  #call(): void {
    this.#startedAt = performance.now();
    this.#socket.write(this.#request);
  }

  #receive(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const headLength = bytes.indexOf("\r\n\r\n");
    const head = bytes.toString("latin1", 0, Math.max(0, headLength));
    const bodyStart = headLength + 4;
    if (headLength < 0 || bytes.length < bodyStart + this.#bodyLength(head)) {
      this.#rest = Buffer.from(bytes);
    } else {
      this.#rest = Buffer.alloc(0);
      this.#onResponse(head.startsWith("HTTP/1.1 200 ") && this.#answer.compare(bytes, bodyStart) === 0);
    }
  }

  #bodyLength(head: string): number {
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length === undefined) this.#failed(new Error(`a response without content-length: ${head}`));
    return Number(length ?? 0);
  }

  #onResponse(right: boolean): void {
    const now = performance.now();
    if (right) this.#score?.latencies.record(now - this.#startedAt);
    else if (this.#score !== undefined) this.#score.errors++;
    if (now < this.#until) this.#call();
    else this.#finished();
  }
}

function request(codec: Load["codec"], body: Uint8Array): Buffer {
  const head = [
    `POST ${echoPath} HTTP/1.1`,
    "host: 127.0.0.1",
    "user-agent: triple-bench",
    `content-type: application/${codec}`,
    "tri-protocol-version: 1.0.0",
    `content-length: ${body.length}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), body]);
}
