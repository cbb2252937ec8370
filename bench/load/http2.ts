/**
 * gRPC calls over one HTTP/2 connection, at a fraction of what any server under load spends: a request is a constant
 * string of bytes but for its stream number, and of a response only the frame headers and the message are read.
 */
import { connect, type Socket } from "node:net";
import { echoEnvelope, echoPath, repeatCount, repeatEnvelope, repeatPath } from "../echo.ts";
import { orderEnvelope, orderPath } from "../order.ts";
import type { Connection, Load, Score } from "./load.ts";

const frameType = { data: 0, headers: 1, rstStream: 3, settings: 4, ping: 6, goAway: 7, windowUpdate: 8 };
const endStream = 0x1;
const ack = 0x1;
const endHeaders = 0x4;

const settingEnablePush = 2;
const settingInitialWindowSize = 4;

/** Given to the server for the whole connection, and again whenever as much has arrived. */
const receiveWindow = 2 ** 20;

const preface = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  // A response is far smaller than this window: no stream ever needs a WINDOW_UPDATE of its own.
  frame(frameType.settings, 0, 0, settings([settingEnablePush, 0], [settingInitialWindowSize, 2 ** 18])),
  windowUpdate(2 * receiveWindow),
]);

/** A call as it is sent, but for its stream number, and what has to come back. */
interface Script {
  readonly request: Buffer;
  /** Bytes of the request that count for flow control. */
  readonly requestBytes: number;
  /** Offsets of the stream number in the two frames of the request. */
  readonly streamOffsets: readonly [headers: number, data: number];
  /** The message of the response, in its envelope. */
  readonly answer: Buffer;
  /** Bytes of all messages of the response. */
  readonly responseBytes: number;
  /** The answer over and over: more of it than any frame holds. */
  readonly answers: Buffer;
}

const scripts: Readonly<Record<Load["method"], Script>> = {
  echo: script(echoPath, echoEnvelope, echoEnvelope, 1),
  order: script(orderPath, orderEnvelope, orderEnvelope, 1),
  repeat: script(repeatPath, repeatEnvelope, echoEnvelope, repeatCount),
};

/** Connects and waits until the server has said its SETTINGS. */
export function openHttp2(port: number, load: Load): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const connection = new Http2Connection(port, load, () => resolve(connection), reject);
  });
}

interface Call {
  readonly startedAt: number;
  /** Bytes of the messages that have come back. */
  received: number;
  /** True if they were all as they should be. */
  right: boolean;
}

class Http2Connection implements Connection {
  readonly #socket: Socket;
  readonly #inFlight: number;
  readonly #script: Script;
  readonly #opened: () => void;
  /** Rejects the promise of the run, or of opening before the first run. */
  #failed: (error: Error) => void;
  #finished = () => {};
  #until = 0;
  #score: Score | undefined;

  readonly #calls = new Map<number, Call>();
  #nextStream = 1;
  #sendWindow = 65_535;
  #unacknowledged = 0;
  /** The start of a frame whose end has not arrived. */
  #rest = Buffer.alloc(0);
  /** Requests of one turn. Used again as soon as the kernel has taken them. */
  #output: Buffer;

  constructor(port: number, { inFlight, method }: Load, opened: () => void, failed: (error: Error) => void) {
    this.#inFlight = inFlight;
    this.#script = scripts[method];
    this.#opened = opened;
    this.#failed = failed;
    this.#output = Buffer.allocUnsafe(inFlight * this.#script.request.length);
    const callback = (length: number, buffer: Uint8Array) => {
      this.#receive(Buffer.from(buffer.buffer, buffer.byteOffset, length));
      return true;
    };
    // One buffer for everything that arrives: it is read before the next chunk comes.
    const onread = { buffer: Buffer.allocUnsafeSlow(256 * 1024), callback };
    this.#socket = connect({ port, host: "127.0.0.1", noDelay: true, onread });
    this.#socket.on("error", (error) => this.#failed(error));
    this.#socket.on("close", () => this.#failed(new Error("the server closed the connection")));
    this.#socket.write(preface);
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
    // One look at the clock for all that arrived together; it is also the start of the calls made in reply.
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
        // The last frame of a gRPC response is its trailers.
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
    const { answer, answers } = this.#script;
    const from = call.received % answer.length;
    call.right &&= answers.compare(bytes, start, end, from, from + length) === 0;
    call.received += length;
  }

  #onEnd(stream: number, now: number, inTrailers: boolean): void {
    const call = this.#calls.get(stream);
    if (call === undefined || this.#score === undefined) return;
    this.#calls.delete(stream);
    const complete = call.right && call.received === this.#script.responseBytes;
    if (inTrailers && complete) this.#score.latencies.record(now - call.startedAt);
    else this.#score.errors++;
  }

  /** Starts as many calls as have ended, in one write; with the time up, waits for those still open. */
  #refill(now: number): void {
    if (now >= this.#until) {
      if (this.#calls.size === 0) this.#finished();
      return;
    }
    if (this.#socket.writableLength > 0) this.#output = Buffer.allocUnsafe(this.#output.length);
    const { request, requestBytes, streamOffsets } = this.#script;
    let length = 0;
    while (this.#calls.size < this.#inFlight && this.#sendWindow >= requestBytes) {
      request.copy(this.#output, length);
      for (const offset of streamOffsets) this.#output.writeUInt32BE(this.#nextStream, length + offset);
      length += request.length;
      this.#calls.set(this.#nextStream, { startedAt: now, received: 0, right: true });
      this.#sendWindow -= requestBytes;
      this.#nextStream += 2;
    }
    if (length > 0) this.#socket.write(this.#output.subarray(0, length));
  }
}

function script(path: string, envelope: Buffer, answer: Buffer, count: number): Script {
  const headers = Buffer.concat([
    Buffer.from([0x83, 0x86]), // :method POST and :scheme http, both from the static table
    field(":path", path),
    field(":authority", "127.0.0.1"),
    field("content-type", "application/grpc+proto"),
    field("te", "trailers"),
    field("user-agent", "triple-bench"),
  ]);
  const headersFrame = frame(frameType.headers, endHeaders, 0, headers);
  return {
    request: Buffer.concat([headersFrame, frame(frameType.data, endStream, 0, envelope)]),
    requestBytes: envelope.length,
    streamOffsets: [5, headersFrame.length + 5],
    answer,
    responseBytes: count * answer.length,
    answers: Buffer.alloc(2 ** 16, answer),
  };
}

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header.writeUInt8(type, 3);
  header.writeUInt8(flags, 4);
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

function windowUpdate(increment: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(increment);
  return frame(frameType.windowUpdate, 0, 0, payload);
}

function settings(...pairs: readonly (readonly [identifier: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * pairs.length);
  for (const [index, [identifier, value]] of pairs.entries()) {
    payload.writeUInt16BE(identifier, 6 * index);
    payload.writeUInt32BE(value, 6 * index + 2);
  }
  return payload;
}

/** A literal header field without indexing, new name (RFC 7541, 6.2.2): the same bytes on every request. */
function field(name: string, value: string): Buffer {
  // Strings here are shorter than 127 bytes, so that one byte says their length.
  const literal = (text: string) => String.fromCharCode(text.length) + text;
  return Buffer.from(`\0${literal(name)}${literal(value)}`, "latin1");
}
