/**
 * The server engine for platforms that answer a `Request` with a `Response`, such as Bun, Deno, Cloudflare Workers, Hono
 * and Next.
 */

import type { ContextValues } from "../call/call.ts";
import { clientGone } from "../call/error.ts";
import type { Metadata } from "../call/metadata.ts";
import { assertFunctions, assertMembers } from "../call/option.ts";
import type { PeerConnection } from "../call/peer.ts";
import { onAbort } from "../call/timer.ts";
import { takeTurn } from "../call/turn.ts";
import type { Body } from "../http/body.ts";
import type { Exchange, HttpRequest } from "../http/exchange.ts";
import { pathsBelow, removedPrefix } from "../http/path-prefix.ts";
import { readBody, readHeaders } from "./message.ts";

const MANUAL_ENCODING = { encodeBody: "manual" } as const;

/**
 * Answers a `Request` with a `Response`. `platform` are the arguments that the platform passes after the request, such as
 * `env` in Cloudflare Workers.
 */
export type FetchHandler<Platform extends readonly unknown[] = readonly unknown[]> = (
  request: Request,
  ...platform: Platform
) => Promise<Response>;

/** Options of {@link fetchHandler}. */
export interface FetchHandlerOptions<Platform extends readonly unknown[] = readonly unknown[]> {
  /** The path prefix of methods, such as `/api`, if the framework does not remove it. Default: none. */
  readonly prefix?: string | undefined;
  /**
   * Creates the values of each call's context from the request and the platform's other arguments, such as `env` in
   * Cloudflare Workers. Called when interceptors or the handler first read `context.values`. Default: no values.
   */
  readonly values?: ((request: Request, ...platform: Platform) => ContextValues) | undefined;
  /**
   * Returns the address of the client from the platform's arguments, such as `info.remoteAddr` in Deno, because a `Request`
   * does not contain it. Called when `context.peer` is first read. Default: the address is `undefined`.
   */
  readonly peer?:
    | ((request: Request, ...platform: Platform) => Partial<Pick<PeerConnection, "address" | "port">>)
    | undefined;
}

/** Creates a handler that serves an exchange. Throws a `TypeError` for an invalid option. */
export function createFetchHandler<Platform extends readonly unknown[]>(
  exchange: Exchange,
  options: FetchHandlerOptions<Platform>,
): FetchHandler<Platform> {
  assertMembers("the options of fetchHandler", options, ["prefix", "values", "peer"]);
  const { prefix, values, peer } = options;
  const pathOf = pathsBelow(prefix);
  assertFunctions({ values, peer });
  return async (request, ...platform) => {
    // Not in Deno, whose signal fires on success too: reading it prints a note.
    if (!("Deno" in globalThis) && request.signal?.aborted) return new Response(null, { status: 499 });
    const received = new FetchRequest(request, new URL(request.url), pathOf);
    if (values !== undefined) received.values = () => values(request, ...platform);
    if (peer !== undefined) received.readPeer = () => peer(request, ...platform);
    const response = await exchange(received);
    const { whole } = response.body;
    if (whole !== undefined) received.close();
    // A response with status 204, as to a preflight request, must have a null body: the constructor refuses an empty one.
    const body = whole === undefined ? writeStream(response.body, received) : whole.byteLength === 0 ? null : whole;
    return new Response(body as Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null, {
      status: response.status,
      headers: [...response.headers],
      // Without this option, Cloudflare Workers compress a body again that has a content-encoding.
      ...MANUAL_ENCODING,
    });
  };
}

/** Converts a body to a stream with backpressure. The request is cancelled if the reader cancels the stream. */
function writeStream(body: Body, request: FetchRequest): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  // The promise is not awaited: the handler may be waiting for a promise that ignores the signal.
  const leave = (): void => void chunks.return?.().catch(() => {});
  request.onAborted = leave;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        await takeTurn(value?.length ?? 0);
        if (!done) return controller.enqueue(value);
        request.close();
        controller.close();
      },
      cancel() {
        request.cancel();
        leave();
      },
    },
    { highWaterMark: 0 },
  );
}

/** Adapts a `Request` to an exchange. */
class FetchRequest implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly prefix: string;
  readonly version = "1.1";
  readonly authority: string;
  readonly headers: Metadata;
  readonly body: Body;
  values: (() => ContextValues) | undefined;
  readPeer: (() => ReturnType<NonNullable<FetchHandlerOptions["peer"]>>) | undefined;
  /** Called when the request is aborted after the call has read its signal: the response may never be read or cancelled. */
  onAborted: (() => void) | undefined;
  readonly #request: Request;
  #controller: AbortController | undefined;
  #unlink = (): void => {};
  #closed = false;

  constructor(request: Request, { host, pathname, search }: URL, pathOf: (target: string) => string) {
    this.method = request.method;
    const path = pathOf(pathname);
    this.path = path + search;
    this.prefix = removedPrefix(pathname, path);
    this.authority = host;
    this.headers = readHeaders(request.headers);
    this.body = readBody(request.body, request, () => "the body of the request ended early");
    this.#request = request;
  }

  get peer(): PeerConnection {
    const { address, port } = this.readPeer?.() ?? {};
    return { address, port, protocol: "h1", tls: undefined };
  }

  /** A separate signal, made on first use: in Deno, that of a request also fires on success, and reading it prints a warning. */
  get signal(): AbortSignal {
    const controller = this.#controller ?? new AbortController();
    if (this.#controller === undefined && !this.#closed) {
      this.#unlink = onAbort(this.#request.signal, (error) => {
        controller.abort(error);
        this.onAborted?.();
      });
    }
    this.#controller = controller;
    return controller.signal;
  }

  /** Aborts the call when the reader cancels the response. */
  cancel(): void {
    this.close();
    this.#controller ??= new AbortController();
    this.#controller.abort(clientGone());
  }

  /** Ends the exchange after its response. The signal does not fire afterwards, except by `cancel`. */
  close(): void {
    this.#closed = true;
    this.#unlink();
  }
}
