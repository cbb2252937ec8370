/**
 * HTTP/2 frame by frame (RFC 9113), for input that no engine would send: attacks on servers, and hostile servers for
 * clients.
 */
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Certificate } from "./certificate.ts";
import { openSocket, secure, startPeer } from "./server.ts";

export const Type = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const Flag = { ack: 1, endStream: 1, endHeaders: 4, padded: 8 } as const;
/** Error codes. */
export const Reset = { none: 0, protocol: 1, internal: 2, refused: 7, cancel: 8, calm: 11 } as const;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export const PREFACE: Buffer = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const FRAME_HEAD_BYTES = 9;

export function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUIntBE(payload.byteLength, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Encodes numbers of four bytes each, as in the payloads of many frames. */
export function words(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4);
  return bytes;
}

/** A SETTINGS frame with pairs of identifier and value. */
export function settings(...pairs: [id: number, value: number][]): Buffer {
  const entries = pairs.map(([id, value]) => {
    const entry = Buffer.alloc(6);
    entry.writeUInt16BE(id, 0);
    entry.writeUInt32BE(value, 2);
    return entry;
  });
  return frame(Type.settings, 0, 0, Buffer.concat(entries));
}

/** A header block of literal fields without indexing and without Huffman coding (RFC 7541, section 6.2.2). */
export function block(...fields: [name: string, value: string][]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}

/** A literal field that is added to the dynamic table, with the index 62. */
export function indexed(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0x40]), text(name), text(value)]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1");
  const length: number[] = [];
  if (bytes.byteLength < 127) length.push(bytes.byteLength);
  else {
    length.push(127);
    let rest = bytes.byteLength - 127;
    for (; rest >= 128; rest = Math.floor(rest / 128)) length.push(128 + (rest % 128));
    length.push(rest);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}

/** The fields of a gRPC request to the greeter's method. */
export function request(method = "Greet", ...more: [name: string, value: string][]): Buffer {
  return block(
    [":method", "POST"],
    [":scheme", "http"],
    [":path", `/greet.v1.GreetService/${method}`],
    [":authority", "127.0.0.1"],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
    ...more,
  );
}

/** The identifier of the setting of the initial window of streams. */
const INITIAL_WINDOW_SIZE = 4;

/** One end of a connection, which does not enforce any rules of HTTP/2. */
export class RawConnection {
  readonly socket: Socket;
  readonly received: Frame[] = [];
  /** True if SETTINGS and PING of the peer are acknowledged. Default: true. */
  polite = true;
  closed = false;
  #buffer = Buffer.alloc(0);
  #prefaceBytes: number;
  #waiting: (() => void)[] = [];
  #onWritable = (): void => {};
  #onFrame: (frame: Frame) => void = () => {};

  constructor(socket: Socket, isServer: boolean) {
    this.socket = socket;
    this.#prefaceBytes = isServer ? PREFACE.byteLength : 0;
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("drain", () => this.#onWritable());
    socket.on("close", () => {
      this.closed = true;
      this.#onWritable();
      this.#wake();
    });
  }

  /** Connects as a client and sends the preface and settings; over TLS, without verification, if requested. */
  static async open(port: number, greeting: Uint8Array = settings(), overTls = false): Promise<RawConnection> {
    const tcp = await openSocket(port);
    const socket = overTls ? await secure(tcp, { ALPNProtocols: ["h2"], rejectUnauthorized: false }) : tcp;
    const connection = new RawConnection(socket, false);
    connection.write(PREFACE, greeting);
    return connection;
  }

  /** Aborts the connection: by a TCP reset, or over TLS, which Node cannot reset, by closing it without close_notify. */
  tear(): void {
    if (this.socket instanceof TLSSocket) this.socket.destroy();
    else this.socket.resetAndDestroy();
  }

  write(...frames: Uint8Array[]): boolean {
    return this.closed || this.socket.write(Buffer.concat(frames));
  }

  /** Writes many frames at the speed of the socket, until it is closed. */
  async flood(count: number, make: (index: number) => Uint8Array, batch = 500): Promise<void> {
    for (let i = 0; i < count && !this.closed; i += batch) {
      const frames = Array.from({ length: Math.min(batch, count - i) }, (_, k) => make(i + k));
      if (this.write(...frames)) await new Promise(setImmediate);
      else {
        while (!this.closed && this.socket.writableNeedDrain) {
          await new Promise<void>((resolve) => {
            this.#onWritable = resolve;
          });
        }
      }
    }
  }

  /**
   * Writes a whole number of batches of frames with `batchBytes` bytes of data each, within the windows that the peer
   * has opened.
   */
  async sendWithinWindow(stream: number, batch: Uint8Array, batchBytes: number, count: number): Promise<void> {
    for (let sent = 0; sent < count * batchBytes; sent += batchBytes) {
      while (!this.closed && Math.min(this.#windowOf(0), this.#windowOf(stream)) - sent < batchBytes)
        await this.#next();
      this.write(batch);
    }
  }

  /** Returns the bytes of data that the peer has allowed so far, on a stream or on the connection (0). */
  #windowOf(stream: number): number {
    let initial = 65_535;
    let updates = 0;
    for (const frame of this.received) {
      if (frame.type === Type.settings && stream !== 0) {
        for (let at = 0; at < frame.payload.length; at += 6) {
          if (frame.payload.readUInt16BE(at) === INITIAL_WINDOW_SIZE) initial = frame.payload.readUInt32BE(at + 2);
        }
      } else if (frame.type === Type.windowUpdate && frame.stream === stream) updates += frame.payload.readUInt32BE(0);
    }
    return initial + updates;
  }

  onFrame(listener: (frame: Frame) => void): void {
    this.#onFrame = listener;
  }

  /** Returns the first received frame of the given type, and stream if one is given. Waits for it if necessary. */
  async frame(type: number, stream?: number): Promise<Frame> {
    for (;;) {
      const found = this.received.find((one) => one.type === type && (stream ?? one.stream) === one.stream);
      if (found !== undefined) return found;
      if (this.closed) throw new Error(`the connection was closed without a frame of type ${type}`);
      await this.#next();
    }
  }

  /** Waits until the connection is closed, and returns the elapsed time. */
  async end(): Promise<number> {
    const start = performance.now();
    while (!this.closed) await this.#next();
    return performance.now() - start;
  }

  #next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  #read(chunk: Buffer): void {
    this.#buffer = Buffer.concat([this.#buffer, chunk]);
    const skipped = Math.min(this.#prefaceBytes, this.#buffer.byteLength);
    this.#prefaceBytes -= skipped;
    this.#buffer = this.#buffer.subarray(skipped);
    while (this.#buffer.byteLength >= FRAME_HEAD_BYTES) {
      const end = FRAME_HEAD_BYTES + this.#buffer.readUIntBE(0, 3);
      if (this.#buffer.byteLength < end) break;
      const [type = 0, flags = 0] = this.#buffer.subarray(3, 5);
      const stream = this.#buffer.readUInt32BE(5) & 0x7fffffff;
      const one = { type, flags, stream, payload: Buffer.from(this.#buffer.subarray(FRAME_HEAD_BYTES, end)) };
      this.#buffer = this.#buffer.subarray(end);
      this.received.push(one);
      if (this.polite) this.#acknowledge(one);
      this.#onFrame(one);
    }
    this.#wake();
  }

  #acknowledge({ type, flags, payload }: Frame): void {
    if ((flags & Flag.ack) !== 0) return;
    if (type === Type.settings) this.write(frame(Type.settings, Flag.ack, 0));
    if (type === Type.ping) this.write(frame(Type.ping, Flag.ack, 0, payload));
  }
}

/** A stream that a client has opened on a {@link RawServer}, when its request is complete or its headers have arrived. */
export interface RawStream {
  readonly connection: RawConnection;
  /** Counts connections from 0. */
  readonly connectionIndex: number;
  readonly id: number;
}

export interface RawServer {
  readonly port: number;
  readonly baseUrl: string;
  readonly connections: RawConnection[];
  /** Every stream whose headers have arrived. */
  readonly streams: RawStream[];
}

/** A server whose handling of streams the test defines. The test is called when the headers of a stream have arrived. */
export async function startRawServer(
  onStream: (stream: RawStream) => void,
  greeting: Uint8Array = settings(),
  identity?: Certificate,
): Promise<RawServer> {
  const connections: RawConnection[] = [];
  const streams: RawStream[] = [];
  const port = await startPeer(
    (socket) => {
      const connection = new RawConnection(socket, true);
      const connectionIndex = connections.push(connection) - 1;
      connection.onFrame(({ type, stream: id }) => {
        if (type !== Type.headers) return;
        const stream = { connection, connectionIndex, id };
        streams.push(stream);
        onStream(stream);
      });
      connection.write(greeting);
    },
    identity && { ...identity, ALPNProtocols: ["h2"] },
  );
  return { port, baseUrl: `${identity === undefined ? "http" : "https"}://127.0.0.1:${port}`, connections, streams };
}

export function respond({ connection, id }: RawStream, ...fields: [name: string, value: string][]): void {
  const head = block([":status", "200"], ["content-type", "application/grpc"], ...fields);
  connection.write(frame(Type.headers, Flag.endHeaders, id, head));
}

/** Sends a whole response with one message, whose only field is the greeting. */
export function greet(stream: RawStream, greeting = "Hello!"): void {
  const text = Buffer.from(greeting);
  const message = Buffer.concat([Buffer.from([0, 0, 0, 0, text.byteLength + 2, 0x0a, text.byteLength]), text]);
  respond(stream);
  stream.connection.write(frame(Type.data, 0, stream.id, message));
  stream.connection.write(
    frame(Type.headers, Flag.endHeaders | Flag.endStream, stream.id, block(["grpc-status", "0"])),
  );
}

export function reset({ connection, id }: RawStream, code: number): void {
  connection.write(frame(Type.reset, 0, id, words(code)));
}

export function goAway({ connection }: RawStream, lastStream: number, code: number = Reset.none): void {
  connection.write(frame(Type.goaway, 0, 0, words(lastStream, code)));
}
