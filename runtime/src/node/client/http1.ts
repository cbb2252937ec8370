/**
 * The client's HTTP/1.1 engine, on `node:http`: every request is an exchange. Calls and messages are unknown here.
 */
import { Agent, request as httpRequest } from "node:http";
import { request as httpsRequest, Agent as TlsAgent, type AgentOptions as TlsAgentOptions } from "node:https";
import { Code } from "../../call/code.ts";
import { abortError, RpcError } from "../../call/error.ts";
import { Metadata } from "../../call/metadata.ts";
import { MAX_TIMER_MS, onAbort, startTimer } from "../../call/timer.ts";
import type { Exchange } from "../../http/exchange.ts";
import { ReadableBody } from "../io/body.ts";
import { connectTimeout, exchangeError, MAX_HEADER_BYTES } from "../io/error.ts";
import { pump } from "../io/pump.ts";
import { type Indexed, SwapList } from "../io/swap-list.ts";
import { lowerNames } from "../server/http1.ts";

export interface Http1Options {
  /** For `https` origins: what `node:tls` takes. */
  readonly tls: TlsAgentOptions | undefined;
  /** Path of the Unix socket to connect to, instead of the origin's host and port. */
  readonly socketPath: string | undefined;
  /** How long a connection may take to be made, TLS included, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** How long a connection may be without a call before it is closed, in milliseconds. */
  readonly idleTimeoutMs: number;
}

/** Makes HTTP/1.1 exchanges with an origin, over connections that are kept alive. */
export function connectHttp1(
  origin: URL,
  { tls, socketPath, connectTimeoutMs, idleTimeoutMs }: Http1Options,
): { exchange: Exchange; close: () => void; destroy: (reason: RpcError) => void } {
  const secure = origin.protocol === "https:";
  // Of the agent's sockets the time ends only those that are idle.
  const keeping = { keepAlive: true, timeout: Math.min(idleTimeoutMs, MAX_TIMER_MS) };
  const agent = secure ? new TlsAgent({ ...tls, ...keeping }) : new Agent(keeping);
  const start = secure ? httpsRequest : httpRequest;
  const target = {
    agent,
    maxHeaderSize: MAX_HEADER_BYTES,
    protocol: origin.protocol,
    hostname: origin.hostname.replace(/^\[|\]$/g, ""),
    port: origin.port,
    ...(socketPath === undefined ? {} : { socketPath }),
  };
  const peer = socketPath ?? origin.host;
  let closed = false;
  /** How to end the exchanges that are under way. */
  const running = new SwapList<Indexed & { readonly fail: (reason: RpcError) => void }>();

  const exchange: Exchange = ({ method, path, headers, body, signal }) => {
    if (closed) return Promise.reject(new RpcError(Code.Unavailable, "the transport is closed"));
    if (signal?.aborted) return Promise.reject(abortError(signal));
    return new Promise((resolve, reject) => {
      const fields = ["host", origin.host, ...headers.raw];
      if (body.whole !== undefined) fields.push("content-length", String(body.whole.byteLength));
      const outgoing = start({ ...target, method, path, headers: fields as never });
      let failure: RpcError | undefined;
      let responded = false;
      const fail = (error: RpcError): void => {
        failure ??= error;
        outgoing.destroy(error);
      };
      const member = { fail, index: 0 };
      running.add(member);
      const unlink = onAbort(signal, fail);
      let stopTimer = (): void => {};
      outgoing.once("socket", (socket) => {
        if (!socket.connecting || outgoing.destroyed) return;
        stopTimer = startTimer(connectTimeoutMs, () => fail(connectTimeout(connectTimeoutMs, peer)));
        socket.once(secure ? "secureConnect" : "connect", stopTimer);
      });
      const lost = (): RpcError => failure ?? new RpcError(Code.Unavailable, `${peer} closed the connection`);
      outgoing.on("error", (cause) => {
        failure ??= exchangeError(cause, peer);
        reject(failure);
      });
      outgoing.on("close", () => {
        running.delete(member);
        if (closed && running.size === 0) agent.destroy();
        unlink();
        stopTimer();
        if (!responded) reject(lost());
      });
      outgoing.on("response", (incoming) => {
        responded = true;
        incoming.on("error", () => {});
        resolve({
          status: incoming.statusCode ?? 0,
          headers: Metadata.fromRaw(lowerNames(incoming.rawHeaders)),
          // A connection can be used again when the end of the response has been read.
          body: new ReadableBody(incoming, {
            lost,
            cancel: () => incoming.destroy(),
            cutOff: () => false,
            readEnd: true,
          }),
          trailers: new Metadata(),
        });
      });
      if (body.whole !== undefined) outgoing.end(body.whole);
      else pump(body, outgoing).catch((reason) => outgoing.destroy(RpcError.from(reason, Code.Internal)));
    });
  };
  return {
    exchange,
    close: () => {
      closed = true;
      if (running.size === 0) agent.destroy();
    },
    destroy: (reason) => {
      closed = true;
      for (const { fail } of running) fail(reason);
    },
  };
}
