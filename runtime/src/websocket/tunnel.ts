/**
 * The server's end of a WebSocket that carries another connection (RFC 6455), without I/O: binary messages are its byte stream,
 * and their borders mean nothing. `receive` and `take` pass bytes on between the socket and the connection.
 */
import { type ByteCoding, type ByteConnection, type Segments, viewOf } from "../wire/output.ts";

/** The name of HTTP/2 with prior knowledge in a WebSocket. */
export const SUBPROTOCOL = "h2ts";

const Opcode = { Continuation: 0, Text: 1, Binary: 2, Close: 8, Ping: 9, Pong: 10 } as const;

/** Codes of the close of a WebSocket (RFC 6455, section 7.4.1). */
export const CloseCode = {
  Normal: 1000,
  GoingAway: 1001,
  ProtocolError: 1002,
  Unsupported: 1003,
  TooBig: 1009,
} as const;

const FIN = 0x80;
const RESERVED_BITS = 0x70;
const MASKED = 0x80;
/** Bytes of a head: two, the length, and the mask. */
const MAX_FRAME_HEAD_BYTES = 14;
const MAX_CONTROL_BYTES = 125;
/** Lengths above this are not exact numbers. */
const MAX_HIGH_LENGTH = 0x1f_ffff;
/** Time without received bytes after which a ping is sent: proxies end connections that are idle for a minute. */
const PING_AFTER_MS = 30_000;
const PONG_TIMEOUT_MS = 15_000;

export class WebSocketTunnel implements ByteCoding {
  readonly #inner: ByteConnection;
  readonly #wake: () => void;
  /** The head of the current frame, as far as it has been received. */
  readonly #head: Uint8Array = new Uint8Array(MAX_FRAME_HEAD_BYTES);
  #headBytes = 0;
  /** The current frame: its opcode, the bytes of its payload that are left, and those that have been unmasked. */
  #opcode: number = Opcode.Continuation;
  #left = 0;
  #position = 0;
  /** Bytes at the start of the next chunk that have been unmasked: the connection has not taken them. */
  #unmasked = 0;
  /** True between the frames of a message. */
  #isFragmented = false;
  readonly #control: Uint8Array = new Uint8Array(MAX_CONTROL_BYTES);
  #controlBytes = 0;
  /** Output that precedes that of the connection: the handshake, and control frames. */
  #first: Uint8Array[];
  #pong: Uint8Array | undefined;
  #closeCode: number | undefined;
  #isClosed = false;
  #heardAt: number | undefined;
  #hasHeard = true;
  #hasPinged = false;

  /** `handshake`: the response that opens the WebSocket. `wake` is called when there is output that is not the connection's. */
  constructor(inner: ByteConnection, handshake: Uint8Array, wake: () => void) {
    this.#inner = inner;
    this.#first = [handshake];
    this.#wake = wake;
  }

  /** Ends the WebSocket after the output of the connection. */
  close(code: number): void {
    this.#closeCode ??= code;
  }

  #fail(code: number, text: string): void {
    this.close(code);
    this.#inner.lost(text);
  }

  /** Returns the output of the connection as one message, between control frames. */
  take(budget: number): Segments {
    const { parts, slabs, bytes } = this.#inner.take(budget);
    const frames = this.#first;
    this.#first = [];
    if (this.#pong !== undefined) frames.push(headOf(Opcode.Pong, this.#pong.length), this.#pong);
    this.#pong = undefined;
    if (bytes > 0) frames.push(headOf(Opcode.Binary, bytes), ...parts);
    const code = this.#closeCode ?? (this.#inner.isOver ? CloseCode.Normal : undefined);
    if (code !== undefined && !this.#isClosed) {
      this.#isClosed = true;
      frames.push(headOf(Opcode.Close, 2), Uint8Array.of(code >> 8, code & 0xff));
    }
    return { parts: frames, slabs, bytes: frames.reduce((sum, { length }) => sum + length, 0) };
  }

  /** Sends a ping to a client that is silent, and closes the WebSocket if it does not answer. */
  tick(time: number): void {
    if (this.#hasHeard || this.#heardAt === undefined) {
      this.#heardAt = time;
      this.#hasHeard = false;
      this.#hasPinged = false;
    }
    const silentMs = time - this.#heardAt;
    if (silentMs >= PING_AFTER_MS + PONG_TIMEOUT_MS)
      this.#fail(CloseCode.GoingAway, "the client did not answer a ping");
    else if (silentMs >= PING_AFTER_MS && !this.#hasPinged) {
      this.#hasPinged = true;
      this.#first.push(headOf(Opcode.Ping, 0));
      this.#wake();
    }
  }

  /** Unmasks the chunk in place. With `frames`, it may take a part of the chunk, as the connection does. */
  receive(chunk: Uint8Array, frames?: number): number {
    this.#hasHeard = true;
    let at = 0;
    for (let steps = 0; at < chunk.length && !this.#inner.isOver && steps !== frames; steps++) {
      if (this.#left === 0) at = this.#readHead(chunk, at);
      else if (this.#opcode >= Opcode.Close) at = this.#readControl(chunk, at);
      else {
        const end = Math.min(chunk.length, at + this.#left);
        this.#unmask(chunk, at + this.#unmasked, end);
        const taken = this.#inner.receive(viewOf(chunk, at, end), frames);
        this.#unmasked = end - at - taken;
        this.#left -= taken;
        at += taken;
        if (frames !== undefined) return at;
      }
    }
    return this.#inner.isOver ? chunk.length : at;
  }

  #unmask(bytes: Uint8Array, start: number, end: number): void {
    const head = this.#head;
    let at = this.#position;
    for (let i = start; i < end; i++) {
      bytes[i] = (bytes[i] as number) ^ (head[10 + (at & 3)] as number);
      at++;
    }
    this.#position = at;
  }

  /** The length of the current head. Known after two bytes. */
  get #headLength(): number {
    const second = this.#head[1] as number;
    const length = second & 0x7f;
    return 2 + (length === 127 ? 8 : length === 126 ? 2 : 0) + ((second & MASKED) === 0 ? 0 : 4);
  }

  #readHead(chunk: Uint8Array, start: number): number {
    let at = start;
    while (at < chunk.length) {
      this.#head[this.#headBytes++] = chunk[at++] as number;
      if (this.#headBytes < 2 || this.#headBytes < this.#headLength) continue;
      this.#beginFrame();
      break;
    }
    return at;
  }

  #beginFrame(): void {
    const head = this.#head;
    const [first = 0, second = 0] = head;
    const length = this.#headBytes;
    this.#headBytes = 0;
    this.#opcode = first & 0x0f;
    const view = new DataView(head.buffer);
    const short = second & 0x7f;
    const high = short === 127 ? view.getUint32(2) : 0;
    const left = short < 126 ? short : short === 126 ? view.getUint16(2) : high * 2 ** 32 + view.getUint32(6);
    const refusal = this.#refusalOf(first, second, high);
    if (refusal !== undefined) {
      this.#fail(...refusal);
      return;
    }
    // The mask keeps its place for all lengths.
    head.copyWithin(10, length - 4, length);
    this.#left = left;
    this.#position = 0;
    this.#controlBytes = 0;
    if (this.#opcode >= Opcode.Close && left === 0) this.#onControl();
  }

  /** Returns the code and the reason of the close that the head of a frame causes; `undefined` if it is valid. */
  #refusalOf(first: number, second: number, high: number): [code: number, text: string] | undefined {
    const isLast = (first & FIN) !== 0;
    const length = second & 0x7f;
    if ((first & RESERVED_BITS) !== 0 || (second & MASKED) === 0) {
      return [CloseCode.ProtocolError, "a frame is not masked, or has reserved bits"];
    }
    if (this.#opcode === Opcode.Text) return [CloseCode.Unsupported, "a message is text, not binary"];
    const isValid =
      this.#opcode >= Opcode.Close
        ? this.#opcode <= Opcode.Pong && isLast && length <= MAX_CONTROL_BYTES
        : this.#continues(isLast);
    if (!isValid) return [CloseCode.ProtocolError, "a frame has an unknown or misplaced opcode, or is too long"];
    return high > MAX_HIGH_LENGTH ? [CloseCode.TooBig, "a frame is too long"] : undefined;
  }

  /** Returns false for a data frame that does not continue what came before it. */
  #continues(isLast: boolean): boolean {
    const isValid = this.#opcode === (this.#isFragmented ? Opcode.Continuation : Opcode.Binary);
    this.#isFragmented = !isLast;
    return isValid;
  }

  #readControl(chunk: Uint8Array, start: number): number {
    const end = Math.min(chunk.length, start + this.#left);
    this.#unmask(chunk, start, end);
    this.#control.set(viewOf(chunk, start, end), this.#controlBytes);
    this.#controlBytes += end - start;
    this.#left -= end - start;
    if (this.#left === 0) this.#onControl();
    return end;
  }

  #onControl(): void {
    const payload = this.#control.slice(0, this.#controlBytes);
    if (this.#opcode === Opcode.Ping) {
      // The most recent one may stand for all (section 5.5.3).
      this.#pong = payload;
      this.#wake();
    } else if (this.#opcode === Opcode.Close) {
      const code = payload.length === 0 ? CloseCode.Normal : ((payload[0] as number) << 8) | (payload[1] ?? 0);
      this.#fail(payload.length !== 1 && isCloseCode(code) ? code : CloseCode.ProtocolError, "the client closed it");
    }
  }
}

/** Codes that a close frame may contain (section 7.4). */
function isCloseCode(code: number): boolean {
  return (code >= 1000 && code <= 1014 && (code < 1004 || code > 1006)) || (code >= 3000 && code < 5000);
}

/** Returns the head of a frame that is not masked, and the last one of its message. */
function headOf(opcode: number, length: number): Uint8Array {
  const first = FIN | opcode;
  if (length < 126) return Uint8Array.of(first, length);
  if (length < 0x1_0000) return Uint8Array.of(first, 126, length >> 8, length & 0xff);
  const head = new Uint8Array(10);
  head[0] = first;
  head[1] = 127;
  new DataView(head.buffer).setBigUint64(2, BigInt(length));
  return head;
}
