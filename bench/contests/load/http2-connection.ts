/** Connections over HTTP/2, whatever their calls are: a run, and the frames of the server. */
import type { Socket } from "node:net";
import { ack, endStream, frame, frameType, preface, receiveWindow, windowUpdate } from "./http2-frames.ts";
import { openSocket } from "./http2-socket.ts";
import type { Connection, Load, Score } from "./load.ts";

export abstract class Http2Connection<Call extends { readonly startedAt: number }> implements Connection {
  protected readonly socket: Socket;
  protected readonly inFlight: number;
  protected readonly calls = new Map<number, Call>();
  protected nextStream = 1;
  /** The bytes that the server's window for the connection still allows. */
  protected window = 65_535;
  readonly #opened: () => void;
  /** Rejects the promise of the run, or of opening before the first run. */
  #failed: (error: Error) => void;
  #finished = () => {};
  #until = 0;
  #score: Score | undefined;
  #unacknowledged = 0;
  /** The first bytes of an incomplete frame. */
  #rest = Buffer.alloc(0);

  /** Connects, and calls `opened` for the SETTINGS of the server. Each stream has a window of `streamWindow`. */
  constructor(port: number, load: Load, streamWindow: number, opened: () => void, failed: (error: Error) => void) {
    this.inFlight = load.inFlight;
    this.#opened = opened;
    this.#failed = failed;
    this.socket = openSocket(port, load, {
      receive: (chunk) => this.receive(chunk),
      fail: (error) => this.#failed(error),
    });
    this.socket.write(preface(streamWindow));
  }

  /** Starts as many calls as have ended. */
  protected abstract start(now: number): void;

  /** Compares received bytes with the expected ones. */
  protected abstract onData(call: Call, bytes: Buffer, start: number, end: number): void;

  /** Reports whether a call that has ended got the expected response. */
  protected abstract isRight(call: Call, inTrailers: boolean): boolean;

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
    this.socket.destroy();
  }

  protected receive(chunk: Buffer): void {
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

  /** Handles the settings of the server, in pairs of six bytes. */
  protected onSettings(_bytes: Buffer, _start: number, _end: number): void {
    this.socket.write(frame(frameType.settings, ack, 0, Buffer.alloc(0)));
    this.#opened();
  }

  protected onWindowUpdate(stream: number, increment: number): void {
    if (stream === 0) this.window += increment;
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
        if ((flags & ack) === 0) this.onSettings(bytes, payload, end);
        break;
      case frameType.ping:
        if ((flags & ack) === 0) this.socket.write(frame(frameType.ping, ack, 0, bytes.subarray(payload, end)));
        break;
      case frameType.goAway:
        this.#failed(new Error(`the server sent GOAWAY with error ${bytes.readUInt32BE(payload + 4)}`));
        break;
      case frameType.windowUpdate:
        this.onWindowUpdate(stream, bytes.readUInt32BE(payload));
        break;
    }
  }

  #onData(stream: number, bytes: Buffer, start: number, end: number): void {
    this.#unacknowledged += end - start;
    if (this.#unacknowledged >= receiveWindow) {
      this.socket.write(windowUpdate(this.#unacknowledged));
      this.#unacknowledged = 0;
    }
    const call = this.calls.get(stream);
    if (call !== undefined) this.onData(call, bytes, start, end);
  }

  #onEnd(stream: number, now: number, inTrailers: boolean): void {
    const call = this.calls.get(stream);
    if (call === undefined || this.#score === undefined) return;
    this.calls.delete(stream);
    if (this.isRight(call, inTrailers)) this.#score.latencies.record(now - call.startedAt);
    else this.#score.errors++;
  }

  /** Starts calls. After the end of the time, waits for the open ones. */
  #refill(now: number): void {
    if (now < this.#until) this.start(now);
    else if (this.calls.size === 0) this.#finished();
  }
}
