/**
 * The client's HTTP/1.1 engine, on `node:http`: every request is an exchange. The engine does not depend on calls or
 * messages.
 */

import { type ClientRequest, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { Code } from "../../call/code.ts";
import { noteObstacle } from "../../call/context.ts";
import { diagnostics } from "../../call/diagnostics.ts";
import { abortError, RpcError, transportClosed } from "../../call/error.ts";
import { Metadata } from "../../call/metadata.ts";
import { MAX_TIMER_MS, startTimer } from "../../call/platform.ts";
import { onAbort } from "../../call/timer.ts";
import type { EndpointConnections } from "../../discovery/endpoint.ts";
import type { Exchange } from "../../http/exchange.ts";
import { ExchangeFailure } from "../../http/transparent-retry.ts";
import { MAX_JOINED_BYTES, ReadableBody } from "../io/body.ts";
import { closedSilently, connectTimeout, exchangeError, isClosedByPeer } from "../io/error.ts";
import { lowerNames } from "../io/http1-fields.ts";
import { nodeLatin1 } from "../io/http2-socket.ts";
import { pump } from "../io/pump.ts";
import { type Indexed, SwapList } from "../io/swap-list.ts";
import { ConnectionAttempts } from "./attempts.ts";
import type { ConnectionBackoff } from "./connection-backoff.ts";
import { closedError, waitingExchange } from "./readiness.ts";
import { addressOf, createAgent, probe, silenceOf, type Target } from "./socket.ts";

export interface Http1Options {
  /** Time limit for making a connection, TLS included, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** Time without calls after which a connection is closed, in milliseconds. */
  readonly idleTimeoutMs: number;
  /**
   * The default of `waitForReady` for requests that do not set it. `undefined`: requests can go to other servers, and
   * none waits.
   */
  readonly waitForReady: boolean | undefined;
  /** The backoff between attempts to connect for requests that wait. Every other request makes one attempt. */
  readonly backoff: ConnectionBackoff;
  /** Limit of the status line and the headers of a response together, in bytes. */
  readonly maxHeaderBytes: number;
}

/** Creates the connector that makes HTTP/1.1 exchanges with a server over persistent connections. */
export function connectHttp1(
  target: Target,
  { connectTimeoutMs, idleTimeoutMs, waitForReady, backoff, maxHeaderBytes }: Http1Options,
): EndpointConnections {
  const { origin, socketPath, peer } = target;
  const secure = origin.protocol === "https:";
  const agent = createAgent(target, Math.min(idleTimeoutMs, MAX_TIMER_MS));
  const start = secure ? httpsRequest : httpRequest;
  const { host: hostname, port } = addressOf(target);
  const { host, protocol } = origin;
  /** Node copies these options for each request, so they are as few as possible. */
  const common = { agent, maxHeaderSize: maxHeaderBytes, protocol, hostname, port };
  if (socketPath !== undefined) Object.assign(common, { socketPath });
  /** True if the server has answered a request, so that it is known to speak HTTP with or without TLS as configured. */
  let answered = false;
  let closed = false;
  /** The running exchanges, each with a function that fails it. */
  const running = new SwapList<Indexed & { readonly fail: (reason: RpcError) => void }>();

  const attempts = new ConnectionAttempts((signal) => probe(target, connectTimeoutMs, signal), backoff);

  const exchange: Exchange = ({ method, path, headers, body, signal, context }) => {
    if (context !== undefined) context.target = peer;
    if (signal?.aborted) return Promise.reject(abortError(signal));
    if (closed) return Promise.reject(closedError(peer, waitForReady));
    return new Promise((resolve, reject) => {
      const fields = ["host", host, ...headers.raw];
      if (body.whole !== undefined) fields.push("content-length", `${body.whole.byteLength}`);
      const outgoing = start({ ...common, method, path, headers: fields as never });
      // Node would silently drop fields beyond 2,000. The limit in bytes bounds their number.
      outgoing.maxHeadersCount = 0;
      let failure: RpcError | undefined;
      let responded = false;
      let connected = outgoing.reusedSocket;
      const fail = (error: RpcError): void => {
        failure ??= error;
        outgoing.destroy(error);
      };
      const member = { fail, index: 0 };
      running.add(member);
      const unlink = onAbort(signal, fail);
      let stopTimer = (): void => {};
      const onSocket = (socket: Socket): void => {
        connected = !socket.connecting;
        if (connected || outgoing.destroyed) return;
        noteObstacle(signal, "connection");
        diagnostics.write?.(`connecting to ${peer} over HTTP/1.1`);
        stopTimer = startTimer(connectTimeoutMs, () => fail(connectTimeout(connectTimeoutMs, peer)));
        socket.once(secure ? "secureConnect" : "connect", () => {
          connected = true;
          noteObstacle(signal, undefined);
          diagnostics.write?.(`connected to ${peer} over HTTP/1.1`);
          stopTimer();
        });
      };
      if (!connected) outgoing.once("socket", onSocket);
      const lost = (): RpcError => failure ?? new RpcError(Code.Unavailable, `${peer} closed the connection`);
      outgoing.on("error", (cause) => {
        failure ??= exchangeError(explain(cause, outgoing.socket), peer, maxHeaderBytes);
        diagnostics.write?.(`request of ${path} failed: ${failure.message}`);
        // The end of the call, or a failure of its request body, says nothing about the server.
        if (signal?.aborted || (connected && cause instanceof RpcError)) reject(failure);
        else reject(new ExchangeFailure(failure, connected ? "unknown" : "notSent"));
      });
      outgoing.on("close", () => {
        running.delete(member);
        if (closed && running.size === 0) agent.destroy();
        unlink();
        stopTimer();
        if (!responded) reject(new ExchangeFailure(lost(), "unknown"));
      });
      outgoing.on("response", (incoming) => {
        responded = true;
        answered = true;
        incoming.on("error", () => {});
        resolve({
          status: incoming.statusCode ?? 0,
          headers: Metadata.fromRaw(lowerNames(incoming.rawHeaders)),
          // The connection can be reused only after the end of the response has been read.
          body: new ReadableBody(incoming, {
            lost,
            cancel: () => incoming.destroy(),
            cutOff: () => false,
            readEnd: true,
          }),
          trailers: new Metadata(),
        });
      });
      if (body.whole !== undefined) endWith(outgoing, body.whole);
      else pump(body, outgoing).catch((reason) => outgoing.destroy(RpcError.from(reason, Code.Internal)));
    });
  };

  /** Adds a hint to the cause of a failed exchange if the server has never sent anything: it may expect another protocol. */
  function explain(cause: unknown, socket: Socket | null): unknown {
    const silence = answered || socket === null || !isClosedByPeer(cause) ? undefined : silenceOf(target, socket);
    return silence === undefined ? cause : closedSilently(silence);
  }

  return {
    exchange: waitingExchange(exchange, attempts, waitForReady),
    get active() {
      return running.size;
    },
    get backoffMs() {
      return backoff.remainingMs;
    },
    connect: () => attempts.ready(undefined, false),
    check: () =>
      attempts.ready(undefined, false).then(
        () => true,
        () => false,
      ),
    async close() {
      closed = true;
      attempts.abandon(transportClosed());
      if (running.size === 0) agent.destroy();
    },
    destroy(reason) {
      closed = true;
      attempts.abandon(reason);
      for (const { fail } of running) fail(reason);
    },
  };
}

/** Ends a request with its body. Node joins headers with text only, so the bytes of a small body become Latin-1 text. */
function endWith(outgoing: ClientRequest, body: Uint8Array): void {
  const { byteLength } = body;
  if (byteLength === 0 || byteLength > MAX_JOINED_BYTES) outgoing.end(body);
  else outgoing.end(nodeLatin1(body, 0, byteLength), "latin1");
}
