/**
 * A simulated socket of `node:net`. `Duplex` gives most orders of events; those of errors, resets and of the event "close"
 * are made here, as Node makes them (see `parity.test.ts`).
 */
import { Duplex } from "node:stream";
import type { Pipe } from "./pipe.ts";
import type { World } from "./world.ts";

/** An error as the operating system reports it. */
export function systemError(
  code: string,
  syscall: string,
  at?: { readonly address: string; readonly port: number },
): Error {
  const place = at === undefined ? "" : ` ${at.address}:${at.port}`;
  return Object.assign(new Error(`${syscall} ${code}${place}`), { code, syscall, ...at });
}

/** Time for all probes of a connection, in milliseconds: ten, one a second, as Node sets them. */
const PROBES_MS = 10_000;

type Done = (error?: Error | null) => void;

/** The limit of buffers of Node 20, in bytes, in all versions: later ones have another default. */
const HIGH_WATER_BYTES = 16 * 1024;

export class SimulatedSocket extends Duplex {
  /** The name of this end in traces, such as `client1#3`. */
  readonly label: string;
  readonly host: string;
  connecting: boolean;
  bytesRead = 0;
  bytesWritten = 0;
  /** True while the stream asks for bytes. */
  wantsRead = false;
  #incoming: Pipe | undefined;
  #outgoing: Pipe | undefined;
  readonly #world: World;
  readonly #remote: { readonly address: string; readonly port: number };
  readonly #local: { readonly address: string; readonly port: number };
  readonly #onClosed: () => void;
  #isReset = false;
  #keepAliveMs: number | undefined;

  constructor(
    world: World,
    label: string,
    host: string,
    addresses: {
      readonly local: { readonly address: string; readonly port: number };
      readonly remote: { readonly address: string; readonly port: number };
    },
    onClosed: () => void,
  ) {
    super({ allowHalfOpen: false, emitClose: false, highWaterMark: HIGH_WATER_BYTES });
    this.label = label;
    this.host = host;
    this.#world = world;
    this.#local = addresses.local;
    this.#remote = addresses.remote;
    this.#onClosed = onClosed;
    this.connecting = true;
    this.on("end", () => {
      if (!this.allowHalfOpen) this.write = writeAfterEnd as typeof this.write;
    });
  }

  get remoteAddress(): string | undefined {
    return this.destroyed ? undefined : this.#remote.address;
  }

  get remotePort(): number | undefined {
    return this.destroyed ? undefined : this.#remote.port;
  }

  get localAddress(): string {
    return this.#local.address;
  }

  get localPort(): number {
    return this.#local.port;
  }

  get incoming(): Pipe | undefined {
    return this.#incoming;
  }

  get outgoing(): Pipe | undefined {
    return this.#outgoing;
  }

  /** Connects this end to the pipes. The owner emits "connect" on the side of the client. */
  open(incoming: Pipe, outgoing: Pipe): void {
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    this.connecting = false;
    // A socket of Node reads before it has a listener, unless it is paused.
    if (this.wantsRead) this.#world.after(0, () => incoming.deliver());
    else if (!this.isPaused()) this.read(0);
  }

  /** Takes bytes that have arrived. */
  receive(bytes: Uint8Array): void {
    this.wantsRead = false;
    this.bytesRead += bytes.length;
    this.push(bytes);
  }

  /**
   * Shows the bytes that the program reads to the observer: a socket that is paused keeps bytes that have arrived, and
   * `read` emits this event as well, for bytes that may be returned by `unshift`.
   */
  override emit(event: string | symbol, ...values: unknown[]): boolean {
    if (event === "data" && this.listenerCount("data") > 0) this.#incoming?.observer?.onRead(values[0] as Uint8Array);
    return super.emit(event, ...values);
  }

  receiveEnd(): void {
    this.wantsRead = false;
    this.push(null);
    // Node reads the end of an idle socket without a reader of its data.
    if (this.readableLength === 0) this.read(0);
  }

  /** Handles a reset by the peer: it is noticed also by a socket that is paused, but after the end by the next write only. */
  receiveReset(): void {
    if (this.destroyed) return;
    this.#isReset = true;
    // Of a read and a write that wait, either one learns of it first.
    const isWriting =
      this.#outgoing?.isIdle === false && (this.readableEnded || this.#world.random("reset").chance(0.5));
    if (isWriting) this.#outgoing?.takePending()?.(systemError("ECONNRESET", "write"));
    else if (!this.readableEnded) this.destroy(systemError("ECONNRESET", "read"));
  }

  /** Sends a reset to the peer. */
  resetPeer(): void {
    if (!this.#isReset) this.#outgoing?.reset();
    this.#isReset = true;
  }

  /** Answers data for a closed socket, as a kernel does. */
  refuse(): void {
    this.#outgoing?.reset();
  }

  endPeer(): void {
    this.#outgoing?.end();
  }

  /** Ends all traffic in both directions without a sign, as when a host or a middlebox vanishes. */
  silence(): void {
    if (this.#incoming !== undefined) this.#incoming.isSilent = true;
    if (this.#outgoing !== undefined) this.#outgoing.isSilent = true;
    this.#probe();
    if (this.#outgoing !== undefined) this.#outgoing.to.#probe();
  }

  /** Ends the socket when the probes have no answer. None are sent while data waits for its acknowledgement. */
  #probe(): void {
    const { bytesWritten } = this;
    if (this.#keepAliveMs === undefined) return;
    this.#world.after(this.#keepAliveMs, () => {
      if (this.bytesWritten === bytesWritten) this.destroy(systemError("ETIMEDOUT", "read"));
    });
  }

  resetAndDestroy(): this {
    this.resetPeer();
    this.destroy();
    return this;
  }

  override _read(): void {
    this.wantsRead = true;
    const incoming = this.#incoming;
    if (incoming !== undefined) this.#world.after(0, () => incoming.deliver());
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: Done): void {
    this.#send([chunk], done);
  }

  override _writev(chunks: { readonly chunk: Uint8Array }[], done: Done): void {
    this.#send(
      chunks.map(({ chunk }) => chunk),
      done,
    );
  }

  override _final(done: Done): void {
    if (this.connecting) {
      this.once("connect", () => this._final(done));
      return;
    }
    this.#outgoing?.end();
    this.#world.after(0, () => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const outgoing = this.#outgoing;
    const pending = outgoing?.takePending();
    if (outgoing !== undefined && !this.#isReset) {
      if (this.#incoming?.hasUnread) this.resetPeer();
      else if (!this.writableFinished) outgoing.end();
    }
    done(error);
    this.#world.onClosed(() => {
      this.#onClosed();
      // The write callback of a destroyed socket has no error.
      pending?.();
      this.emit("close", error !== null);
    });
  }

  setNoDelay(): this {
    return this;
  }

  /** Lets the kernel find out that the other host has vanished, by probes after a time without traffic. */
  setKeepAlive(isOn: boolean, quietMs: number): this {
    if (isOn) this.#keepAliveMs = quietMs + PROBES_MS;
    return this;
  }

  setTimeout(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  #send(chunks: Uint8Array[], done: Done): void {
    const outgoing = this.#outgoing;
    if (outgoing === undefined) {
      const onClose = (): void =>
        done(Object.assign(new Error("Socket closed before the connection was established"), CLOSED_BEFORE_CONNECTION));
      this.once("close", onClose);
      this.once("connect", () => {
        this.off("close", onClose);
        this.#send(chunks, done);
      });
      return;
    }
    if (this.#isReset) {
      done(systemError("EPIPE", "write"));
      return;
    }
    for (const chunk of chunks) this.bytesWritten += chunk.length;
    outgoing.write(chunks, done);
  }
}

const CLOSED_BEFORE_CONNECTION = { code: "ERR_SOCKET_CLOSED_BEFORE_CONNECTION" };

/** Node's `write` of a socket whose peer has ended, unless it is half-open. */
function writeAfterEnd(this: SimulatedSocket, chunk: Uint8Array, second?: unknown, third?: unknown): boolean {
  if (!this.writableEnded) return Duplex.prototype.write.call(this, chunk, second as BufferEncoding, third as Done);
  const done = [second, third].find((one) => typeof one === "function") as Done | undefined;
  const error = Object.assign(new Error("This socket has been ended by the other party"), { code: "EPIPE" });
  if (done !== undefined) process.nextTick(done, error);
  this.destroy(error);
  return false;
}
