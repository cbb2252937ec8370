/**
 * Calls over one HTTP/2 connection, at a fraction of the cost of any server under load: a request consists of constant
 * bytes except for its numbers, and of a response only the frame headers and the message are parsed.
 */
import { Http2Connection } from "./http2-connection.ts";
import { isLong, LongConnection } from "./http2-long.ts";
import { type Script, scriptsOf } from "./http2-scripts.ts";
import type { Connection, Load } from "./load.ts";

/** Connects, and waits for the SETTINGS of the server. */
export function openHttp2(port: number, load: Load): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const create = isLong(load) ? LongConnection : ShortConnection;
    const connection: Connection = new create(port, load, () => resolve(connection), reject);
  });
}

interface Call {
  readonly script: Script;
  readonly startedAt: number;
  /** Number of bytes of the received messages. */
  received: number;
  /** True if all messages were correct. */
  right: boolean;
}

class ShortConnection extends Http2Connection<Call> {
  readonly #scripts: readonly Script[];
  #started = 0;
  /** The requests of one turn. The buffer is reused as soon as the kernel has taken them. */
  #output: Buffer;

  constructor(port: number, load: Load, opened: () => void, failed: (error: Error) => void) {
    // A response is far smaller than this window, so no stream needs a WINDOW_UPDATE.
    super(port, load, 2 ** 18, opened, failed);
    this.#scripts = scriptsOf(load);
    this.#output = Buffer.allocUnsafe(load.inFlight * Math.max(...this.#scripts.map(({ request }) => request.length)));
  }

  /** Starts the calls in one write. */
  protected override start(now: number): void {
    if (this.socket.writableLength > 0) this.#output = Buffer.allocUnsafe(this.#output.length);
    let length = 0;
    while (this.calls.size < this.inFlight) {
      const script = this.#scripts[this.#started % this.#scripts.length] as Script;
      const { request, requestBytes, streamOffsets, numberOffsets } = script;
      if (this.window < requestBytes) break;
      request.copy(this.#output, length);
      for (const offset of streamOffsets) this.#output.writeUInt32BE(this.nextStream, length + offset);
      for (const offset of numberOffsets) {
        this.#output.write(String(this.#started).padStart(16, "0"), length + offset, "latin1");
      }
      length += request.length;
      this.calls.set(this.nextStream, { script, startedAt: now, received: 0, right: true });
      this.window -= requestBytes;
      this.nextStream += 2;
      this.#started++;
    }
    if (length > 0) this.socket.write(this.#output.subarray(0, length));
  }

  protected override onData(call: Call, bytes: Buffer, start: number, end: number): void {
    const length = end - start;
    const { answer, answers } = call.script;
    const from = call.received % answer.length;
    call.right &&= answers.compare(bytes, start, end, from, from + length) === 0;
    call.received += length;
  }

  protected override isRight({ script, right, received }: Call, inTrailers: boolean): boolean {
    return right && received === script.responseBytes && inTrailers === script.hasTrailers;
  }
}
