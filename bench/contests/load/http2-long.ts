/**
 * Calls whose messages exceed the first windows, or that send several messages in turn, with flow control in both
 * directions (RFC 9113, section 5.2).
 */
import type { Socket } from "node:net";
import { blobEnvelope, blobPath, echoEnvelope, talkCount, talkPath } from "../../messages/echo.ts";
import {
  ack,
  endHeaders,
  endStream,
  field,
  frame,
  frameType,
  preface,
  receiveWindow,
  settingInitialWindowSize,
  windowUpdate,
} from "./http2-frames.ts";
import { headersOf } from "./http2-scripts.ts";
import { openSocket } from "./http2-socket.ts";
import type { Connection, Load, Score } from "./load.ts";

const maxFrame = 16_384;
/** More than the longest response. */
const streamWindow = 2 ** 22;

export function isLong({ method }: Load): boolean {
  return method === "blob64k" || method === "blob1m" || method === "talk";
}

interface Call {
  readonly startedAt: number;
  readonly stream: number;
  /** Number of messages that have been started, and of bytes of the last one that have been sent. */
  messages: number;
  sent: number;
  window: number;
  received: number;
  right: boolean;
}

export class LongConnection implements Connection {
  readonly #socket: Socket;
  readonly #inFlight: number;
  readonly #headers: Buffer;
  readonly #message: Buffer;
  /** Messages of a call. */
  readonly #count: number;
  readonly #opened: () => void;
  #failed: (error: Error) => void;
  #finished = () => {};
  #until = 0;
  #score: Score | undefined;
  readonly #calls = new Map<number, Call>();
  #nextStream = 1;
  #window = 65_535;
  #firstWindow = 65_535;
  #unacknowledged = 0;
  #rest = Buffer.alloc(0);
  /** Calls with unsent data. */
  readonly #sending = new Set<Call>();

  constructor(port: number, load: Load, opened: () => void, failed: (error: Error) => void) {
    const { method } = load;
    this.#inFlight = load.inFlight;
    this.#count = method === "talk" ? talkCount : 1;
    this.#message = method === "talk" ? echoEnvelope : blobEnvelope((method === "blob64k" ? 64 : 1024) * 1024);
    const path = method === "talk" ? talkPath : blobPath;
    const headers = Buffer.concat([headersOf(path, "application/grpc+proto"), field("te", "trailers")]);
    this.#headers = frame(frameType.headers, endHeaders, 0, headers);
    this.#opened = opened;
    this.#failed = failed;
    this.#socket = openSocket(port, load, {
      receive: (chunk) => this.#receive(chunk),
      fail: (error) => this.#failed(error),
    });
    this.#socket.write(preface(streamWindow));
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
    const now = performance.now();
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let start = 0;
    this.#socket.cork();
    while (bytes.length - start >= 9) {
      const end = start + 9 + bytes.readUIntBE(start, 3);
      if (end > bytes.length) break;
      this.#onFrame(bytes, start, end, now);
      start = end;
    }
    this.#rest = Buffer.from(bytes.subarray(start));
    if (this.#score !== undefined) this.#refill(now);
    this.#socket.uncork();
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
        if ((flags & ack) === 0) this.#onSettings(bytes, payload, end);
        break;
      case frameType.ping:
        if ((flags & ack) === 0) this.#socket.write(frame(frameType.ping, ack, 0, bytes.subarray(payload, end)));
        break;
      case frameType.goAway:
        this.#failed(new Error(`the server sent GOAWAY with error ${bytes.readUInt32BE(payload + 4)}`));
        break;
      case frameType.windowUpdate:
        this.#onWindowUpdate(stream, bytes.readUInt32BE(payload));
        break;
    }
  }

  #onSettings(bytes: Buffer, start: number, end: number): void {
    for (let at = start; at < end; at += 6) {
      if (bytes.readUInt16BE(at) !== settingInitialWindowSize) continue;
      const change = bytes.readUInt32BE(at + 2) - this.#firstWindow;
      this.#firstWindow += change;
      for (const call of this.#calls.values()) call.window += change;
    }
    this.#socket.write(frame(frameType.settings, ack, 0, Buffer.alloc(0)));
    this.#opened();
    this.#sendAll();
  }

  #onWindowUpdate(stream: number, increment: number): void {
    if (stream === 0) {
      this.#window += increment;
      this.#sendAll();
      return;
    }
    const call = this.#calls.get(stream);
    if (call === undefined) return;
    call.window += increment;
    if (this.#sending.has(call)) this.#send(call);
  }

  #onData(stream: number, bytes: Buffer, start: number, end: number): void {
    const length = end - start;
    this.#unacknowledged += length;
    if (this.#unacknowledged >= receiveWindow) {
      this.#socket.write(windowUpdate(this.#unacknowledged));
      this.#unacknowledged = 0;
    }
    const call = this.#calls.get(stream);
    if (call === undefined) return;
    const message = this.#message;
    for (let at = start; at < end; ) {
      const from = call.received % message.length;
      const until = Math.min(end, at + message.length - from);
      call.right &&= message.compare(bytes, at, until, from, from + until - at) === 0;
      call.received += until - at;
      at = until;
    }
    const isAnswered = call.received === call.messages * message.length;
    if (isAnswered && call.messages < this.#count) this.#sendNext(call);
  }

  #sendNext(call: Call): void {
    call.messages++;
    call.sent = 0;
    this.#sending.add(call);
    this.#send(call);
  }

  #sendAll(): void {
    for (const call of this.#sending) {
      if (this.#window === 0) return;
      this.#send(call);
    }
  }

  /** Sends as much of the call's message as the windows allow. */
  #send(call: Call): void {
    const message = this.#message;
    while (call.sent < message.length) {
      const length = Math.min(maxFrame, message.length - call.sent, call.window, this.#window);
      if (length <= 0) return;
      const end = call.sent + length;
      const isLast = end === message.length && call.messages === this.#count;
      this.#socket.write(frame(frameType.data, isLast ? endStream : 0, call.stream, message.subarray(call.sent, end)));
      call.sent = end;
      call.window -= length;
      this.#window -= length;
    }
    this.#sending.delete(call);
  }

  #onEnd(stream: number, now: number, inTrailers: boolean): void {
    const call = this.#calls.get(stream);
    if (call === undefined || this.#score === undefined) return;
    this.#calls.delete(stream);
    this.#sending.delete(call);
    const complete = call.right && call.received === this.#count * this.#message.length;
    if (inTrailers && complete) this.#score.latencies.record(now - call.startedAt);
    else this.#score.errors++;
  }

  #refill(now: number): void {
    if (now >= this.#until) {
      if (this.#calls.size === 0) this.#finished();
      return;
    }
    while (this.#calls.size < this.#inFlight) {
      const stream = this.#nextStream;
      this.#nextStream += 2;
      const call = {
        startedAt: now,
        stream,
        messages: 0,
        sent: 0,
        window: this.#firstWindow,
        received: 0,
        right: true,
      };
      this.#calls.set(stream, call);
      const headers = Buffer.from(this.#headers);
      headers.writeUInt32BE(stream, 5);
      this.#socket.write(headers);
      this.#sendNext(call);
    }
  }
}
