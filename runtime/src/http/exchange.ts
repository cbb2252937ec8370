/**
 * The language of the wire: one HTTP request and its response as plain values. Engines move them, protocols make and
 * read them, and because both ends use the same types a server's exchange can stand in for a network.
 */
import { Code, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import type { Metadata } from "../call/metadata.ts";

export interface HttpRequest {
  readonly method: string;
  /** The request target, starting with `/`. */
  readonly path: string;
  readonly version: "1.1" | "2";
  /** Host and port that the client asked for, where no `host` field says so: `:authority` of HTTP/2 (RFC 9113, 8.3.1). */
  readonly authority?: string | undefined;
  readonly headers: Metadata;
  readonly body: Body;
  /** Fires when the sender gives up or is lost. Engines make it on demand; `undefined` where nothing can abort. */
  readonly signal: AbortSignal | undefined;
  /** Whether a client's engine waits for a server that cannot be connected to. `undefined`: as its own option says. */
  readonly waitForReady?: boolean | undefined;
  /**
   * Told of work for the request that goes on after its response, because it does not listen to the signal. An engine
   * that limits how much runs at a time counts it until it settles.
   */
  waitUntil?(work: Promise<unknown>): void;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Metadata;
  readonly body: Body;
  /** Complete when the body has ended. Throws an `RpcError` if the peer sent some that are too large to be taken. */
  readonly trailers: Metadata;
}

/** The language of the wire. Rejects with an `RpcError` if there is no response. */
export type Exchange = (request: HttpRequest) => Promise<HttpResponse>;

/** What a client makes its exchanges over. */
export interface Connections {
  /** Lets running exchanges finish, and refuses new ones. */
  close(): Promise<void>;
  /** Ends them now, and all that are running with that reason. */
  destroy(reason: RpcError): void;
}

/** The bytes of a request or response. Read it once, by one of its ways. Leaving the iteration early cancels the rest. */
export interface Body extends AsyncIterable<Uint8Array> {
  /** All bytes, where they are known from the start, so that an engine can write them in one flush. */
  readonly whole?: Uint8Array | undefined;
  /**
   * All bytes. Rejects with resource_exhausted, without buffering further, if there are more than `limit`, not counting
   * the `framing` bytes that a protocol puts around a message; and with what `check` throws.
   */
  bytes(limit: number, framing?: number, check?: BodyCheck): Promise<Uint8Array>;
}

/**
 * Looks at a body that comes in pieces, whenever one more of them has come, and throws for what will not be taken: nobody has
 * to wait for the rest then. `bytes` is the length of all chunks, `limit` that of {@link Body.bytes}.
 */
export type BodyCheck = (chunks: readonly Uint8Array[], bytes: number, limit: number) => void;

const NO_BYTES = new Uint8Array(0);

class WholeBody implements Body {
  readonly whole: Uint8Array;
  constructor(whole: Uint8Array) {
    this.whole = whole;
  }
  async bytes(limit: number, framing = 0): Promise<Uint8Array> {
    if (this.whole.byteLength > limit + framing) throw tooLarge(limit, this.whole.byteLength - framing);
    return this.whole;
  }
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, undefined> {
    if (this.whole.byteLength > 0) yield this.whole;
  }
}

class StreamBody implements Body {
  readonly whole = undefined;
  readonly #chunks: AsyncIterable<Uint8Array>;
  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks;
  }
  async bytes(limit: number, framing = 0, check?: BodyCheck): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of this.#chunks) {
      length += chunk.byteLength;
      if (length > limit + framing) throw tooLarge(limit, `at least ${length - framing}`);
      chunks.push(chunk);
      check?.(chunks, length, limit);
    }
    return concat(chunks, length);
  }
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#chunks[Symbol.asyncIterator]();
  }
}

/** A body whose bytes are all known. */
export function wholeBody(bytes: Uint8Array): Body {
  return new WholeBody(bytes);
}

/** A body that comes in pieces. */
export function streamBody(chunks: AsyncIterable<Uint8Array>): Body {
  return new StreamBody(chunks);
}

/** A body without bytes. */
export const emptyBody: Body = wholeBody(NO_BYTES);

/** Tells a body that its bytes are not wanted, so that its connection can be used again. */
export function cancelBody(body: Body): void {
  body[Symbol.asyncIterator]()
    .return?.()
    .catch(() => {});
}

/**
 * Makes the function that takes a prefix such as `/api` off request targets. A target that is not below the prefix comes
 * out without its slash, which is the path of no method: whoever guards the prefix guards every way in. Throws a
 * `TypeError` for a prefix that does not start with a slash.
 */
export function pathsBelow(prefix = ""): (target: string) => string {
  const below = prefix.replace(/\/+$/, "");
  if (below === "") return (target) => target;
  if (!below.startsWith("/")) throw new TypeError(`prefix "${prefix}" must start with "/"`);
  return (target) => (target.startsWith(`${below}/`) ? target.slice(below.length) : target.replace(/^\/+/, ""));
}

/** Joins chunks; one alone is returned as it is. */
export function concat(chunks: readonly Uint8Array[], length: number): Uint8Array {
  if (chunks.length <= 1) return chunks[0] ?? NO_BYTES;
  const joined = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    joined.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return joined;
}

/** Why a server's exchange ends early: nothing more than this is known of its client. */
export function clientGone(): RpcError {
  return new RpcError(Code.Canceled, "the client has cancelled the call or is gone");
}

/** The error of a message or body over the limit. Its size is at least so much where the rest of it is not read. */
export function tooLarge(limit: number, size: number | `at least ${number}`): RpcError {
  return new RpcError(
    Code.ResourceExhausted,
    `message of ${size} bytes is larger than the limit of ${limit} bytes (option maxMessageBytes of the receiver)`,
    { status: Status.BadRequest },
  );
}
