/**
 * Watches the frames of a connection where they are written and where they are read. It checks flow control (I4) and the rules
 * of frames between two ends of our own (I5), RFC 9113, sections 5.1, 5.2, 6.8 and 6.9.
 */
import { FLAG_ACK, FLAG_END_STREAM, FRAME, type Frame, FrameReader } from "./frame-reader.ts";
import type { Connection } from "./network.ts";

const DEFAULT_WINDOW_BYTES = 65_535;
const SETTING_MAX_STREAMS = 3;
const SETTING_WINDOW = 4;
/** The largest window of a connection of ours. */
const MAX_WINDOW_BYTES = 4 * 1024 * 1024 + 256 * 1024;
const NO_ERROR = 0;
const REFUSED_STREAM = 7;
const CANCEL = 8;
/** Error codes that one of our ends may send to the other: all others say that the other broke a rule. */
const FRIENDLY: readonly number[] = [NO_ERROR, REFUSED_STREAM, CANCEL];

/** The largest frame of both ends, in bytes. */
const MAX_FRAME_BYTES = 16 * 1024;
/** Size of a read that the engine may process in steps, over several turns. */
const LARGE_READ_BYTES = 16 * 1024;
/** Turns with writes after GOAWAY that may contain requests from before it: what had been framed while an earlier write waited. */
const STALE_TURNS = 3;

/** The owner of an observer. */
export interface Watcher {
  /** Receives a broken rule. */
  readonly report: (invariant: string, text: string) => void;
  /** Counts something that should happen now and then. */
  readonly see: (what: string) => void;
  /** Adds a frame to the trace. */
  readonly note: (text: () => string) => void;
  /** Called when the client has opened a stream. */
  readonly onOpened: () => void;
  /** Returns the number of the current event. */
  readonly turn: () => number;
}

interface StreamSide {
  hasEnded: boolean;
  wasReset: boolean;
  /** True if this side has read the reset of the other side. */
  peerReset: boolean;
  /** True if this side has read the end or the reset of the other side. */
  hasReadEnd: boolean;
  /** The event after which its frames take that into account; infinite if some may have waited to be written. */
  knowsEndAfter: number;
  /** Bytes of DATA that this side has sent, and the increments that it has read. */
  sent: number;
  allowed: number;
}

/** One end of a connection: what it has sent, and what it has read. */
class End {
  readonly name: string;
  readonly streams: Map<number, StreamSide> = new Map();
  /** Bytes of DATA on the connection that it has sent, and may send. */
  sent = 0;
  allowed = DEFAULT_WINDOW_BYTES;
  /** Bytes of DATA that it has read, and the part of the peer's window that it has announced. */
  received = 0;
  announced = DEFAULT_WINDOW_BYTES;
  largestLeft = DEFAULT_WINDOW_BYTES;
  /** Initial window of streams, as the other side has set it. */
  streamWindow = DEFAULT_WINDOW_BYTES;
  maxStreams: number = Number.POSITIVE_INFINITY;
  lastStream = 0;
  knowsGoAway = false;
  /** Turns with writes since GOAWAY was read, and the last turn with a write. */
  turnsAfterGoAway = 0;
  lastTurn = -1;
  sentGoAway: number | undefined;

  constructor(name: string) {
    this.name = name;
  }

  stream(id: number): StreamSide {
    let side = this.streams.get(id);
    if (side === undefined) {
      side = {
        hasEnded: false,
        wasReset: false,
        peerReset: false,
        hasReadEnd: false,
        knowsEndAfter: Number.POSITIVE_INFINITY,
        sent: 0,
        allowed: 0,
      };
      this.streams.set(id, side);
    }
    return side;
  }
}

export class FrameObserver {
  /** True once the client has removed the endpoint: the connection ends with its last stream. */
  isReleased = false;
  readonly #connection: Connection;
  readonly #turn: Watcher["turn"];
  readonly #client: End;
  readonly #server: End;
  readonly #report: Watcher["report"];
  readonly #see: Watcher["see"];
  readonly #name: string;
  readonly #onNew: () => void;
  #open = new Set<number>();

  constructor(connection: Connection, { report, see, note, turn, onOpened }: Watcher) {
    this.#onNew = onOpened;
    this.#turn = turn;
    this.#name = `${connection.client}#${connection.id}→${connection.server}`;
    this.#connection = connection;
    this.#client = new End(connection.client);
    this.#server = new End(connection.server);
    this.#report = report;
    this.#see = see;
    this.#attach(connection.upstream, this.#client, this.#server, note);
    this.#attach(connection.downstream, this.#server, this.#client, note);
  }

  /** True if one of the ends has sent GOAWAY, or the client has removed the endpoint. */
  get isLeaving(): boolean {
    return this.isReleased || this.#client.sentGoAway !== undefined || this.#server.sentGoAway !== undefined;
  }

  /** The streams that are open for the client. */
  get openStreams(): readonly number[] {
    return [...this.#client.streams].flatMap(([id, one]) =>
      one.wasReset || one.peerReset || (one.hasEnded && one.hasReadEnd) ? [] : [id],
    );
  }

  /** Checks, when nothing is under way, that the windows of the connection are whole but for what is not announced yet. */
  checkQuiet(): void {
    if (this.#open.size > 0) return;
    for (const end of [this.#client, this.#server]) {
      // The end may have announced its window before this observer has read the whole frame in between.
      const lost = end.largestLeft - MAX_FRAME_BYTES - (end.announced - end.received);
      if (lost > end.largestLeft / 2) {
        this.#report(
          "I4",
          `${this.#name}: ${end.name} has not returned ${lost} of ${end.largestLeft} bytes of its window, and no stream is open`,
        );
      }
    }
  }

  #attach(pipe: Connection["upstream"], from: End, to: End, note: (text: () => string) => void): void {
    const isClient = from === this.#client;
    const written = new FrameReader(isClient, (frame) => {
      note(() => `${this.#name} ${from.name} sends ${describe(frame)}`);
      this.#onSent(from, to, frame);
    });
    let isClear = false;
    const read = new FrameReader(isClient, (frame) => {
      note(() => `${this.#name} ${to.name} reads ${describe(frame)}`);
      this.#onRead(to, frame, isClear);
    });
    pipe.observer = {
      onWritten: (bytes) => {
        if (from.knowsGoAway && from.lastTurn !== this.#turn()) from.turnsAfterGoAway++;
        from.lastTurn = this.#turn();
        written.read(bytes);
      },
      onRead: (bytes) => {
        isClear = bytes.length < LARGE_READ_BYTES && pipe.to.outgoing?.isIdle === true;
        read.read(bytes);
      },
    };
  }

  #break(text: string): void {
    this.#report("I5", `${this.#name}: ${text}`);
  }

  #onSent(end: End, peer: End, { type, flags, stream, length, payload }: Frame): void {
    if (type === FRAME.headers) this.#onHeaders(end, stream, flags);
    else if (type === FRAME.data) this.#onData(end, stream, length, flags);
    else if (type === FRAME.reset) this.#onReset(end, stream, payload.readUInt32BE(0));
    else if (type === FRAME.goAway) this.#onGoAway(end, payload.readUInt32BE(0) & 0x7fffffff, payload.readUInt32BE(4));
    else if (type === FRAME.windowUpdate && stream === 0) this.#onAnnounced(end, payload.readUInt32BE(0));
    if (end === this.#server && type === FRAME.headers && !this.#client.streams.has(stream)) {
      this.#break(`${end.name} answers stream ${stream}, which ${peer.name} has not opened`);
    }
  }

  #onHeaders(end: End, stream: number, flags: number): void {
    const isNew = end === this.#client && !end.streams.has(stream);
    const side = end.stream(stream);
    if (isNew) this.#onOpened(end, stream, side);
    if (side.wasReset) this.#break(`${end.name} sends HEADERS on stream ${stream}, which it has reset`);
    else if (side.hasEnded) this.#break(`${end.name} sends HEADERS on stream ${stream}, which it has ended`);
    if (end === this.#server && side.allowed === 0) side.allowed = end.streamWindow;
    if (flags & FLAG_END_STREAM) this.#ended(end, stream);
  }

  #onOpened(end: End, stream: number, side: StreamSide): void {
    if (stream <= end.lastStream || stream % 2 === 0)
      this.#break(`${end.name} opens stream ${stream} after ${end.lastStream}`);
    if (end.turnsAfterGoAway > STALE_TURNS) this.#break(`${end.name} opens stream ${stream} after it has read GOAWAY`);
    end.lastStream = stream;
    side.allowed = end.streamWindow;
    this.#open.add(stream);
    const ids = this.openStreams;
    const open = ids.length;
    if (open > end.maxStreams)
      this.#break(`${end.name} has the open streams ${ids.join(", ")}; the limit of its peer is ${end.maxStreams}`);
    if (open === end.maxStreams) this.#see("stream limit reached");
    this.#onNew();
  }

  #onData(end: End, stream: number, length: number, flags: number): void {
    const side = end.stream(stream);
    if (side.wasReset) this.#break(`${end.name} sends DATA on stream ${stream}, which it has reset`);
    else if (side.hasEnded) this.#break(`${end.name} sends DATA on stream ${stream}, which it has ended`);
    side.sent += length;
    end.sent += length;
    if (end.sent > end.allowed)
      this.#report(
        "I4",
        `${this.#name}: ${end.name} has sent ${end.sent} bytes; the window of the connection allows ${end.allowed}`,
      );
    if (side.sent > side.allowed)
      this.#report(
        "I4",
        `${this.#name}: ${end.name} has sent ${side.sent} bytes on stream ${stream}; its window allows ${side.allowed}`,
      );
    if (end.sent === end.allowed) this.#see("window of a connection used up");
    if (side.sent === side.allowed && length > 0) this.#see("window of a stream used up");
    if (flags & FLAG_END_STREAM) this.#ended(end, stream);
  }

  /** A window never exceeds its maximum: more is returned than was received otherwise. */
  #onAnnounced(end: End, increment: number): void {
    end.announced += increment;
    const left = end.announced - end.received;
    end.largestLeft = Math.max(end.largestLeft, left);
    if (left > MAX_WINDOW_BYTES)
      this.#report("I4", `${this.#name}: ${end.name} lets its peer send ${left} bytes, more than its largest window`);
  }

  #onReset(end: End, stream: number, code: number): void {
    const side = end.stream(stream);
    if (!FRIENDLY.includes(code)) this.#break(`${end.name} resets stream ${stream} with code ${code}`);
    if (side.wasReset) this.#break(`${end.name} resets stream ${stream} twice`);
    if (side.hasEnded && this.#turn() > side.knowsEndAfter && code !== CANCEL)
      this.#break(`${end.name} resets stream ${stream}, which both sides have ended`);
    this.#see(`RST_STREAM ${code}`);
    side.wasReset = true;
    this.#open.delete(stream);
  }

  #onGoAway(end: End, lastStream: number, code: number): void {
    // A connection on which bytes stand still for long ends with an incomplete frame, or without an acknowledgement of SETTINGS.
    const { upstream, downstream } = this.#connection;
    if (!FRIENDLY.includes(code) && !upstream.hasStoodStill && !downstream.hasStoodStill)
      this.#break(`${end.name} sends GOAWAY with code ${code}`);
    if (end.sentGoAway !== undefined && lastStream > end.sentGoAway)
      this.#break(`${end.name} raises the last stream of GOAWAY to ${lastStream}`);
    end.sentGoAway = lastStream;
    this.#see(`GOAWAY of ${end === this.#server ? "a server" : "a client"}, code ${code}`);
  }

  #ended(end: End, stream: number): void {
    const side = end.stream(stream);
    side.hasEnded = true;
    if (end === this.#server) this.#open.delete(stream);
  }

  #onRead(end: End, { type, flags, stream, length, payload }: Frame, isClear: boolean): void {
    if (type === FRAME.data) end.received += length;
    if (type === FRAME.data || type === FRAME.headers) {
      if (flags & FLAG_END_STREAM) this.#onEnd(end.stream(stream), isClear);
    } else if (type === FRAME.reset) {
      end.stream(stream).peerReset = true;
      this.#onEnd(end.stream(stream), isClear);
    } else if (type === FRAME.goAway) end.knowsGoAway = true;
    else if (type === FRAME.settings && (flags & FLAG_ACK) === 0) this.#onSettings(end, payload);
    else if (type === FRAME.windowUpdate) {
      if (stream === 0) end.allowed += payload.readUInt32BE(0);
      else end.stream(stream).allowed += payload.readUInt32BE(0);
    }
  }

  #onEnd(side: StreamSide, isClear: boolean): void {
    side.hasReadEnd = true;
    if (isClear) side.knowsEndAfter = Math.min(side.knowsEndAfter, this.#turn());
  }

  #onSettings(end: End, payload: Buffer): void {
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      const value = payload.readUInt32BE(at + 2);
      const setting = payload.readUInt16BE(at);
      if (setting === SETTING_MAX_STREAMS) end.maxStreams = value;
      if (setting !== SETTING_WINDOW) continue;
      for (const side of end.streams.values()) side.allowed += value - end.streamWindow;
      end.streamWindow = value;
    }
  }
}

function describe({ type, flags, stream, length, payload }: Frame): string {
  const name = Object.entries(FRAME).find(([, value]) => value === type)?.[0] ?? `type ${type}`;
  const end = (type === FRAME.data || type === FRAME.headers) && flags & FLAG_END_STREAM ? " END_STREAM" : "";
  const code =
    type === FRAME.reset
      ? ` code ${payload.readUInt32BE(0)}`
      : type === FRAME.goAway
        ? ` code ${payload.readUInt32BE(4)}`
        : "";
  return `${name}${flags & FLAG_ACK && (type === FRAME.settings || type === FRAME.ping) ? " ACK" : ""} ${stream} ${length}${end}${code}`;
}
