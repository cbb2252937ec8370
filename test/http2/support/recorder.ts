/** Connections whose calls are recorded, so that tests compare values. */
import { ClientRole } from "../../../runtime/src/http2/client.ts";
import { ErrorCode } from "../../../runtime/src/http2/codes.ts";
import type { EngineConnection } from "../../../runtime/src/http2/connection.ts";
import type { ConnectionEvent } from "../../../runtime/src/http2/events.ts";
import { DEFAULT_LIMITS, type EngineLimits } from "../../../runtime/src/http2/limits.ts";
import type { HeaderBlock } from "../../../runtime/src/http2/messages.ts";
import { ServerRole } from "../../../runtime/src/http2/server.ts";
import type { Stream, StreamSink } from "../../../runtime/src/http2/stream.ts";
import type { OutputOwner } from "../../../runtime/src/wire/output.ts";
import "../../support/windows.ts";
import { type Frame, PREFACE, parseFrames, settings } from "./frames.ts";

/** The recorded events of one stream. */
export class Heard implements StreamSink {
  block: HeaderBlock | undefined;
  readonly #chunks: Buffer[] = [];
  trailers: readonly string[] | undefined;
  ended = false;
  reset: { code: number; by: string; isUnprocessed: boolean } | undefined;
  closed = 0;
  drains = 0;
  stream: Stream | undefined;
  /** True if data is consumed as it arrives. */
  consumes: boolean;
  onDrained: () => void = () => {};

  constructor(consumes = true) {
    this.consumes = consumes;
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  onResponse(block: HeaderBlock): void {
    this.block = block;
  }
  onData(bytes: Uint8Array): void {
    // The chunk is copied, because it may be overwritten.
    this.#chunks.push(Buffer.from(bytes));
    if (this.consumes) this.stream?.consumed(bytes.length);
  }
  onEnd(trailers: readonly string[] | undefined): void {
    if (this.ended || this.reset || this.closed) throw new Error("ended twice, or after its end");
    this.ended = true;
    this.trailers = trailers;
  }
  onReset(code: number, by: string, isUnprocessed: boolean): void {
    if (this.reset || this.closed) throw new Error("reset twice, or after its end");
    this.reset = { code, by, isUnprocessed };
  }
  onDrain(): void {
    this.drains++;
    this.onDrained();
  }
  onRespondedEarly(): void {
    this.stream?.reset(ErrorCode.NoError);
  }
  onClosed(): void {
    this.closed++;
    if (this.closed > 1) throw new Error("closed twice");
  }
}

/** The output of a connection, and the number of requests for it. */
class Wire implements OutputOwner {
  wakes = 0;
  wake(): void {
    this.wakes++;
  }
  slabs: Uint8Array[] = [];
  slab(): Uint8Array {
    return this.slabs.pop() ?? new Uint8Array(64 * 1024);
  }
}

/** Default budget of `take`. */
const PLENTY = 16 * 1024 * 1024;

abstract class Recorded {
  readonly wire: Wire = new Wire();
  readonly events: ConnectionEvent[] = [];
  abstract readonly connection: EngineConnection;

  onEvent = (event: ConnectionEvent): void => {
    this.events.push(event);
  };

  /** Returns the bytes that the connection sends now. */
  bytes(budget = PLENTY): Buffer {
    const { parts, slabs } = this.connection.take(budget);
    const bytes = Buffer.concat(parts);
    // Overwrites the buffers after use, like an adapter that reuses them.
    for (const slab of slabs) slab.fill(0xff, 0, 100);
    this.wire.slabs.push(...slabs);
    return bytes;
  }

  /** Returns the frames that the connection sends now. */
  frames(budget = PLENTY): Frame[] {
    const bytes = this.bytes(budget);
    const isPreface = bytes.subarray(0, PREFACE.length).equals(PREFACE);
    return parseFrames(isPreface ? bytes.subarray(PREFACE.length) : bytes);
  }

  receive(...chunks: readonly Uint8Array[]): void {
    for (const chunk of chunks) this.connection.receive(chunk);
  }

  /** The reason for the end of the connection; `undefined` while it is open. */
  get over(): Extract<ConnectionEvent, { type: "over" }> | undefined {
    return this.events.find((event) => event.type === "over") as Extract<ConnectionEvent, { type: "over" }> | undefined;
  }
}

export class RecordedServer extends Recorded {
  readonly requests: Heard[] = [];
  readonly role: ServerRole;
  readonly connection: EngineConnection;
  /** Called with each request. */
  onRequest: (stream: Stream, heard: Heard) => void = () => {};
  consumes = true;

  /** `isOpen`: true after the client's preface and SETTINGS. */
  constructor(limits: Partial<EngineLimits> = {}, isOpen = true, allowsProtocol = false) {
    super();
    const resolved = { ...DEFAULT_LIMITS, ...limits };
    const handler = {
      onEvent: this.onEvent,
      onRequest: (stream: Stream, block: HeaderBlock, early: readonly Uint8Array[]): void => {
        const heard = new Heard(this.consumes);
        heard.stream = stream;
        stream.sink = heard;
        heard.block = block;
        for (const bytes of early) heard.onData(bytes);
        this.requests.push(heard);
        this.onRequest(stream, heard);
      },
    };
    this.role = new ServerRole(handler, { output: this.wire, limits: resolved, allowsProtocol });
    this.connection = this.role.connection;
    if (!isOpen) return;
    this.receive(PREFACE, settings());
    this.bytes();
  }
}

export class RecordedClient extends Recorded {
  readonly role: ClientRole;
  readonly connection: EngineConnection;

  constructor(isOpen = true, limits: Partial<EngineLimits> = {}) {
    super();
    this.role = new ClientRole(this, {
      output: this.wire,
      limits: { ...DEFAULT_LIMITS, ...limits },
      scheme: "http",
      authority: "localhost",
    });
    this.connection = this.role.connection;
    if (!isOpen) return;
    this.receive(settings());
    this.bytes();
  }

  /** Opens a stream for a call. */
  open(body?: Uint8Array, isEnd = true, fields: readonly string[] = ["te", "trailers"], method = "POST"): Heard {
    const heard = new Heard();
    const head = { method, path: "/a.B/C", headers: { raw: fields, frozen: false } };
    heard.stream = this.role.open(head, heard, body, isEnd);
    return heard;
  }
}

/** The list of constant fields. */
export const frozen = (...raw: readonly string[]): { raw: readonly string[]; frozen: boolean } => ({
  raw,
  frozen: true,
});

/** Returns bytes that differ from each other. */
export function bytesOf(length: number, first = 0): Uint8Array {
  // A loop, because `Uint8Array.from` with a function would take most of the time of the property tests.
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) bytes[i] = first + i * 7 + (i >> 8);
  return bytes;
}
