/**
 * Calls whose messages exceed the first windows, or that send several messages in turn, with flow control in both
 * directions (RFC 9113, section 5.2).
 */
import { blobEnvelope, blobPath, echoEnvelope, talkCount, talkPath } from "../../messages/echo.ts";
import { Http2Connection } from "./http2-connection.ts";
import { endHeaders, endStream, field, frame, frameType, settingInitialWindowSize } from "./http2-frames.ts";
import { headersOf } from "./http2-scripts.ts";
import type { Load } from "./load.ts";

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

export class LongConnection extends Http2Connection<Call> {
  readonly #headers: Buffer;
  readonly #message: Buffer;
  /** Messages of a call. */
  readonly #count: number;
  #firstWindow = 65_535;
  /** Calls with unsent data. */
  readonly #sending = new Set<Call>();

  constructor(port: number, load: Load, opened: () => void, failed: (error: Error) => void) {
    super(port, load, streamWindow, opened, failed);
    const { method } = load;
    this.#count = method === "talk" ? talkCount : 1;
    this.#message = method === "talk" ? echoEnvelope : blobEnvelope((method === "blob64k" ? 64 : 1024) * 1024);
    const path = method === "talk" ? talkPath : blobPath;
    const headers = Buffer.concat([headersOf(path, "application/grpc+proto"), field("te", "trailers")]);
    this.#headers = frame(frameType.headers, endHeaders, 0, headers);
  }

  protected override start(now: number): void {
    while (this.calls.size < this.inFlight) {
      const stream = this.nextStream;
      this.nextStream += 2;
      const call = {
        startedAt: now,
        stream,
        messages: 0,
        sent: 0,
        window: this.#firstWindow,
        received: 0,
        right: true,
      };
      this.calls.set(stream, call);
      const headers = Buffer.from(this.#headers);
      headers.writeUInt32BE(stream, 5);
      this.socket.write(headers);
      this.#sendNext(call);
    }
  }

  protected override receive(chunk: Buffer): void {
    this.socket.cork();
    super.receive(chunk);
    this.socket.uncork();
  }

  protected override onSettings(bytes: Buffer, start: number, end: number): void {
    for (let at = start; at < end; at += 6) {
      if (bytes.readUInt16BE(at) !== settingInitialWindowSize) continue;
      const change = bytes.readUInt32BE(at + 2) - this.#firstWindow;
      this.#firstWindow += change;
      for (const call of this.calls.values()) call.window += change;
    }
    super.onSettings(bytes, start, end);
    this.#sendAll();
  }

  protected override onWindowUpdate(stream: number, increment: number): void {
    super.onWindowUpdate(stream, increment);
    if (stream === 0) this.#sendAll();
    const call = this.calls.get(stream);
    if (call === undefined) return;
    call.window += increment;
    if (this.#sending.has(call)) this.#send(call);
  }

  protected override onData(call: Call, bytes: Buffer, start: number, end: number): void {
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

  protected override isRight(call: Call, inTrailers: boolean): boolean {
    this.#sending.delete(call);
    return inTrailers && call.right && call.received === this.#count * this.#message.length;
  }

  #sendNext(call: Call): void {
    call.messages++;
    call.sent = 0;
    this.#sending.add(call);
    this.#send(call);
  }

  #sendAll(): void {
    for (const call of this.#sending) {
      if (this.window === 0) return;
      this.#send(call);
    }
  }

  /** Sends as much of the call's message as the windows allow. */
  #send(call: Call): void {
    const message = this.#message;
    while (call.sent < message.length) {
      const length = Math.min(maxFrame, message.length - call.sent, call.window, this.window);
      if (length <= 0) return;
      const end = call.sent + length;
      const isLast = end === message.length && call.messages === this.#count;
      this.socket.write(frame(frameType.data, isLast ? endStream : 0, call.stream, message.subarray(call.sent, end)));
      call.sent = end;
      call.window -= length;
      this.window -= length;
    }
    this.#sending.delete(call);
  }
}
