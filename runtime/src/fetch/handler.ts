/**
 * The server engine for platforms that answer a `Request` with a `Response`: Bun, Deno, Cloudflare Workers, Hono, Next and others.
 */
import type { ContextValues } from "../call/call.ts";
import type { Metadata } from "../call/metadata.ts";
import type { PeerConnection } from "../call/peer.ts";
import { onAbort } from "../call/timer.ts";
import type { Body } from "../http/body.ts";
import { clientGone, type Exchange, type HttpRequest } from "../http/exchange.ts";
import { readBody, readHeaders } from "./message.ts";

/** Answers a `Request` with a `Response`, as Bun, Deno, Hono and many others want it. */
export type FetchHandler<Platform extends readonly unknown[] = readonly unknown[]> = (
  request: Request,
  ...platform: Platform
) => Promise<Response>;

/** Makes of a request what its call needs to know beside it. */
export interface RequestReading<Platform extends readonly unknown[]> {
  readonly values?: ((request: Request, ...platform: Platform) => ContextValues) | undefined;
  readonly peer?: ((request: Request, ...platform: Platform) => FetchPeer) | undefined;
}

/** The address of a client, as the platform tells it. */
export type FetchPeer = Partial<Pick<PeerConnection, "address" | "port">>;

/** Makes a handler that serves an exchange. `pathOf` takes the path of a method out of the path of a URL. */
export function createFetchHandler<Platform extends readonly unknown[]>(
  exchange: Exchange,
  pathOf: (target: string) => string,
  { values, peer }: RequestReading<Platform>,
): FetchHandler<Platform> {
  return async (request, ...platform) => {
    const received = new FetchRequest(request, new URL(request.url), pathOf);
    if (values !== undefined) received.values = () => values(request, ...platform);
    if (peer !== undefined) received.readPeer = () => peer(request, ...platform);
    const response = await exchange(received);
    const { whole } = response.body;
    if (whole !== undefined) received.close();
    // A response to a preflight request must have no body, not an empty one.
    const body = whole === undefined ? writeStream(response.body, received) : whole.byteLength === 0 ? null : whole;
    return new Response(body as Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null, {
      status: response.status,
      headers: [...response.headers],
      // Cloudflare Workers would compress a body with content-encoding once more.
      ...MANUAL_ENCODING,
    });
  };
}

/** The chunks of a body with backpressure. A reader that leaves them cancels the request. */
function writeStream(body: Body, request: FetchRequest): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (!done) return controller.enqueue(value);
        request.close();
        controller.close();
      },
      cancel() {
        request.cancel();
        // Not awaited: the handler may be in an await that ignores the signal.
        chunks.return?.().catch(() => {});
      },
    },
    { highWaterMark: 0 },
  );
}

const MANUAL_ENCODING = { encodeBody: "manual" } as const;

/** Adapts a `Request` to an exchange. */
class FetchRequest implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly version = "1.1";
  readonly authority: string;
  readonly headers: Metadata;
  readonly body: Body;
  values: (() => ContextValues) | undefined;
  readPeer: (() => FetchPeer) | undefined;
  readonly #request: Request;
  #controller: AbortController | undefined;
  #unlink = (): void => {};
  #closed = false;

  constructor(request: Request, { host, pathname }: URL, pathOf: (target: string) => string) {
    this.method = request.method;
    this.path = pathOf(pathname);
    this.authority = host;
    this.headers = readHeaders(request.headers);
    this.body = readBody(request.body, request, () => "the body of the request ended early");
    this.#request = request;
  }

  get peer(): PeerConnection {
    const { address, port } = this.readPeer?.() ?? {};
    return { address, port, protocol: "h1", tls: undefined };
  }

  /** A signal of its own, made on first use: that of the request also fires on success in Deno, which warns when it is read. */
  get signal(): AbortSignal {
    const controller = this.#controller ?? new AbortController();
    if (this.#controller === undefined && !this.#closed) {
      this.#unlink = onAbort(this.#request.signal, (error) => controller.abort(error));
    }
    this.#controller = controller;
    return controller.signal;
  }

  /** Called when the reader of the response leaves it. */
  cancel(): void {
    this.close();
    this.#controller ??= new AbortController();
    this.#controller.abort(clientGone());
  }

  /** Called with the response, or at its end. The signal does not fire afterwards. */
  close(): void {
    this.#closed = true;
    this.#unlink();
  }
}
