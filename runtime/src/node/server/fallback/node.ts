/**
 * A fallback in the shape of `node:http`. A request is passed to the listener through a connection in memory, as a request of
 * HTTP/1.1, because applications such as Express replace the prototypes of the objects of `node:http` and work with no others.
 */
import {
  type ClientRequest,
  request as createRequest,
  createServer,
  type IncomingMessage,
  METHODS,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import type { Duplex } from "node:stream";
import { clientGone, type ErrorHook } from "../../../call/error.ts";
import { Metadata } from "../../../call/metadata.ts";
import { onAbort } from "../../../call/timer.ts";
import { ignore } from "../../../connection/error.ts";
import { streamBody } from "../../../http/body.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../../../http/exchange.ts";
import { quote } from "../../../protocol/error.ts";
import { TEXT_TYPE, textResponse } from "../../../server/resource.ts";
import { pump } from "../../io/body.ts";
import { MemorySocket } from "../../io/duplex-pair.ts";
import { isEndToEnd, lowerNames } from "../adapter/headers.ts";

function answerFailure(outgoing: ServerResponse): void {
  if (outgoing.headersSent) {
    outgoing.destroy();
    return;
  }
  for (const name of outgoing.getHeaderNames()) outgoing.removeHeader(name);
  outgoing.writeHead(500, { "content-type": TEXT_TYPE }).end("internal server error\n");
}

/** Bytes of a head. The engine of the client's connection limits it. */
const MAX_HEAD_BYTES = 256 * 1024;

/**
 * Creates an exchange that a listener of `node:http` answers. An error that the listener throws, or rejects with, is passed to
 * `onError` and answered with 500. The exchange rejects if the listener destroys the response.
 */
export function nodeExchange(listener: RequestListener, onError: ErrorHook): Exchange {
  // The engine of the client's connection limits times and sizes. This server never listens.
  const server = createServer(
    {
      maxHeaderSize: MAX_HEAD_BYTES,
      headersTimeout: 0,
      requestTimeout: 0,
      keepAliveTimeout: 0,
      requireHostHeader: false,
    },
    (incoming, outgoing) => {
      incoming.on("error", ignore);
      outgoing.on("error", ignore);
      const answer = async (): Promise<void> => listener(incoming, outgoing);
      answer().catch((reason: unknown) => {
        onError(reason, incoming.url ?? "");
        answerFailure(outgoing);
      });
    },
  );
  server.maxHeadersCount = 0;
  return async (request) => {
    // The connection of CONNECT would not end, and node:http does not parse other methods.
    if (request.method === "CONNECT" || !METHODS.includes(request.method)) {
      return textResponse(501, TEXT_TYPE, `the method ${quote(request.method)} is not supported\n`);
    }
    const [near, far] = MemorySocket.pair();
    far.identify(request.peer);
    for (const end of [near, far]) end.on("error", ignore);
    server.emit("connection", far);
    let outgoing: ClientRequest;
    try {
      outgoing = open(near, request);
    } catch (reason) {
      near.destroy();
      return textResponse(400, TEXT_TYPE, `the request is not supported: ${(reason as Error).message}\n`);
    }
    return answerOf(outgoing, near, request);
  };
}

/** Writes the head of a request. Throws a `TypeError` for one that HTTP/1.1 does not support. */
function open(socket: Duplex, { method, path, authority, headers, body }: HttpRequest): ClientRequest {
  // The engine has answered the expectation.
  const fields = [...headers.filter((name) => name !== "expect" && name !== "te" && isEndToEnd(name)).raw];
  if (authority !== undefined && !headers.has("host")) fields.push("host", authority);
  const { whole } = body;
  if (whole === undefined && !headers.has("content-length")) fields.push("transfer-encoding", "chunked");
  else if (whole !== undefined && whole.byteLength > 0 && !headers.has("content-length")) {
    fields.push("content-length", String(whole.byteLength));
  }
  return createRequest({
    createConnection: () => socket,
    method,
    path,
    headers: fields as never,
    setHost: false,
    maxHeaderSize: MAX_HEAD_BYTES,
  });
}

function answerOf(outgoing: ClientRequest, socket: Duplex, { body, signal }: HttpRequest): Promise<HttpResponse> {
  const cancel = (): void => {
    socket.destroy();
  };
  // As in node:http, a client that ends its side has gone.
  const stopWatching = onAbort(signal, cancel);
  socket.once("close", stopWatching);
  if (body.whole === undefined) {
    // The listener may answer before the body.
    outgoing.flushHeaders();
    pump(body, outgoing).catch(cancel);
  } else outgoing.end(body.whole);
  return new Promise((resolve, reject) => {
    outgoing.on("error", () => reject(clientGone()));
    outgoing.on("response", (incoming) => resolve(toResponse(incoming, socket)));
  });
}

function toResponse(incoming: IncomingMessage, socket: Duplex): HttpResponse {
  return {
    status: incoming.statusCode as number,
    headers: Metadata.fromRaw(lowerNames(incoming.rawHeaders)).filter(isEndToEnd),
    body: streamBody(chunksOf(incoming, socket)),
    trailers: new Metadata(),
  };
}

/** Yields the chunks of a response. A reader that leaves closes the connection, so that the listener notices. */
async function* chunksOf(incoming: IncomingMessage, socket: Duplex): AsyncGenerator<Uint8Array, void> {
  try {
    yield* incoming;
  } finally {
    socket.destroy();
  }
}
