/**
 * Calls over one HTTP/2 connection, at a fraction of the cost of any server under load: a request consists of constant
 * bytes except for its numbers, and of a response only the frame headers and the message are parsed.
 */
import type { Socket } from "node:net";
import { ack, endStream, frame, frameType, preface, receiveWindow, windowUpdate } from "./http2-frames.ts";
import { isLong, LongConnection } from "./http2-long.ts";
import { type Script, scriptsOf } from "./http2-scripts.ts";
import { openSocket } from "./http2-socket.ts";
import type { Connection, Load, Score } from "./load.ts";

/** Connects, and waits for the SETTINGS of the server. */
export function openHttp2(port: number, load: Load): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const create = isLong(load) ? LongConnection : Http2Connection;
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

class Http2Connection implements Connection {
  readonly #socket: Socket;
  readonly #inFlight: number;
  readonly #scripts: readonly Script[];
  readonly #opened: () => void;
  /** Rejects the promise of the run, or of opening before the first run. */
  #failed: (error: Error) => void;
  #finished = () => {};
  #until = 0;
  #score: Score | undefined;

  readonly #calls = new Map<number, Call>();
  #nextStream = 1;
  #started = 0;
  #sendWindow = 65_535;
  #unacknowledged = 0;
  /** The first bytes of an incomplete frame. */
  #rest = Buffer.alloc(0);
  /** The requests of one turn. The buffer is reused as soon as the kernel has taken them. */
  #output: Buffer;

  constructor(port: number, load: Load, opened: () => void, failed: (error: Error) => void) {
    this.#inFlight = load.inFlight;
    this.#scripts = scriptsOf(load);
    this.#opened = opened;
    this.#failed = failed;
    this.#output = Buffer.allocUnsafe(load.inFlight * Math.max(...this.#scripts.map(({ request }) => request.length)));
    this.#socket = openSocket(port, load, {
      receive: (chunk) => this.#receive(chunk),
      fail: (error) => this.#failed(error),
    });
    // A response is far smaller than this window, so no stream needs a WINDOW_UPDATE.
    this.#socket.write(preface(2 ** 18));
  }

  run(until: number, score: Score): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#finished = resolve;
      this.#failed = reject;
      this.#until = until;
      this.#score = score;
      this.#refill(performance.now());
    });
  }

  close(): void {
    this.#failed = () => {};
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    // One reading of the clock for all data that arrived together. It is also the start of the next calls.
    const now = performance.now();
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let start = 0;
    while (bytes.length - start >= 9) {
      const end = start + 9 + bytes.readUIntBE(start, 3);
      if (end > bytes.length) break;
      this.#onFrame(bytes, start, end, now);
      start = end;
    }
    this.#rest = Buffer.from(bytes.subarray(start));
    if (this.#score !== undefined) this.#refill(now);
  }

  #onFrame(bytes: Buffer, start: number, end: number, now: number): void {
    const flags = bytes.readUInt8(start + 4);
    const stream = bytes.readUInt32BE(start + 5);
    const payload = start + 9;
    switch (bytes.readUInt8(start + 3)) {
      case frameType.data:
        this.#onData(stream, bytes, payload, end);
        if ((flags & endStream) !== 0) this.#onEnd(stream, now, false);
        break;
      case frameType.headers:
        if ((flags & endStream) !== 0) this.#onEnd(stream, now, true);
        break;
      case frameType.rstStream:
        this.#onEnd(stream, now, false);
        break;
      case frameType.settings:
        if ((flags & ack) !== 0) break;
        this.#socket.write(frame(frameType.settings, ack, 0, Buffer.alloc(0)));
        this.#opened();
        break;
      case frameType.ping:
        if ((flags & ack) === 0) this.#socket.write(frame(frameType.ping, ack, 0, bytes.subarray(payload, end)));
        break;
      case frameType.goAway:
        this.#failed(new Error(`the server sent GOAWAY with error ${bytes.readUInt32BE(payload + 4)}`));
        break;
      case frameType.windowUpdate:
        if (stream === 0) this.#sendWindow += bytes.readUInt32BE(payload);
        break;
    }
  }

  #onData(stream: number, bytes: Buffer, start: number, end: number): void {
    this.#unacknowledged += end - start;
    if (this.#unacknowledged >= receiveWindow) {
      this.#socket.write(windowUpdate(this.#unacknowledged));
      this.#unacknowledged = 0;
    }
    const call = this.#calls.get(stream);
    if (call === undefined) return;
    const length = end - start;
    const { answer, answers } = call.script;
    const from = call.received % answer.length;
    call.right &&= answers.compare(bytes, start, end, from, from + length) === 0;
    call.received += length;
  }

  #onEnd(stream: number, now: number, inTrailers: boolean): void {
    const call = this.#calls.get(stream);
    if (call === undefined || this.#score === undefined) return;
    this.#calls.delete(stream);
    const { responseBytes, hasTrailers } = call.script;
    const complete = call.right && call.received === responseBytes;
    if (inTrailers === hasTrailers && complete) this.#score.latencies.record(now - call.startedAt);
    else this.#score.errors++;
  }

  /** Starts as many calls as have ended, in one write. After the end of the time, waits for the open calls. */
  #refill(now: number): void {
    if (now >= this.#until) {
      if (this.#calls.size === 0) this.#finished();
      return;
    }
    if (this.#socket.writableLength > 0) this.#output = Buffer.allocUnsafe(this.#output.length);
    let length = 0;
    while (this.#calls.size < this.#inFlight) {
      const script = this.#scripts[this.#started % this.#scripts.length] as Script;
      const { request, requestBytes, streamOffsets, numberOffsets } = script;
      if (this.#sendWindow < requestBytes) break;
      request.copy(this.#output, length);
      for (const offset of streamOffsets) this.#output.writeUInt32BE(this.#nextStream, length + offset);
      for (const offset of numberOffsets) {
        this.#output.write(String(this.#started).padStart(16, "0"), length + offset, "latin1");
      }
      length += request.length;
      this.#calls.set(this.#nextStream, { script, startedAt: now, received: 0, right: true });
      this.#sendWindow -= requestBytes;
      this.#nextStream += 2;
      this.#started++;
    }
    if (length > 0) this.#socket.write(this.#output.subarray(0, length));
  }
}
