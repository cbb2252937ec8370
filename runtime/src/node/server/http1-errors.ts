/**
 * What a server of HTTP/1.1 answers by itself: to what `node:http` can make no request of, and to what calls never are.
 */
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { Status } from "../../call/code.ts";
import type { Metadata } from "../../call/metadata.ts";

/** An answer that ends the connection, in the words of the specification's error body. */
export interface Refusal {
  /** Of the status line. */
  readonly httpStatus: string;
  readonly status: Status;
  readonly message: string;
  /** One more header, as a line. */
  readonly header?: string;
}

const MALFORMED: Refusal = {
  httpStatus: "400 Bad Request",
  status: Status.BadRequest,
  message: "the request is not HTTP/1.1",
};

/** What is wrong, by the code of the error that `node:http` tells. */
const REFUSALS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: {
    httpStatus: "431 Request Header Fields Too Large",
    status: Status.BadRequest,
    message: "the headers of the request are too large",
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    httpStatus: "408 Request Timeout",
    status: Status.ServerTimeout,
    message: "the request did not arrive in time",
  },
};

export function refusalOf({ code }: NodeJS.ErrnoException): Refusal {
  return REFUSALS[code ?? ""] ?? MALFORMED;
}

export const NO_TUNNEL: Refusal = {
  httpStatus: "405 Method Not Allowed",
  status: Status.BadRequest,
  message: "calls use the method POST, not CONNECT",
  header: "allow: POST\r\n",
};

export const NO_EXPECTATION: Refusal = {
  httpStatus: "417 Expectation Failed",
  status: Status.BadRequest,
  message: "the only expectation that is supported is 100-continue",
};

const ONE_HOST: Refusal = {
  httpStatus: "400 Bad Request",
  status: Status.BadRequest,
  message: "a request must have one header host",
};

const ONLY_CHUNKED: Refusal = {
  httpStatus: "501 Not Implemented",
  status: Status.BadRequest,
  message: "the only transfer-encoding that is supported is chunked",
};

/** What RFC 9112 has servers refuse, in its sections 3.2 and 6.1, and `node:http` lets pass or answers without a word. */
export function objectionTo(headers: Metadata, httpVersion: string): Refusal | undefined {
  const host = headers.get("host");
  // The values of several are joined.
  if (host === undefined ? httpVersion !== "1.0" : host.includes(",")) return ONE_HOST;
  const coding = headers.get("transfer-encoding");
  return coding === undefined || coding.toLowerCase() === "chunked" ? undefined : ONLY_CHUNKED;
}

/** Answers a request with a refusal, and ends the connection: what follows may not be what it seems. */
export function refuseRequest(response: ServerResponse, { httpStatus, status, message }: Refusal): void {
  const body = JSON.stringify({ status, message });
  const fields = { connection: "close", "content-type": "application/json", "content-length": body.length };
  response.writeHead(Number.parseInt(httpStatus, 10), fields).end(body);
}

/** The last two responses of a connection. They go out in order, so none before them matters. */
interface Latest {
  last: ServerResponse;
  beforeLast: ServerResponse | undefined;
}

/** The responses that are due on each connection, and those connections that will get no more of them. */
export class Responses {
  readonly #latest = new WeakMap<Duplex, Latest>();
  readonly #refused = new WeakSet<Duplex>();

  /** A request has come, and this will be its response. */
  add(response: ServerResponse): void {
    const { socket } = response.req;
    const latest = this.#latest.get(socket);
    if (latest === undefined) {
      this.#latest.set(socket, { last: response, beforeLast: undefined });
    } else {
      latest.beforeLast = latest.last;
      latest.last = response;
    }
  }

  /** Answers what is no request, once the requests before it have been answered, and ends the connection. */
  refuse(socket: Duplex, refusal: Refusal): void {
    if (!socket.writable) socket.destroy();
    // Node tells of the same bytes again with all that follow them.
    if (this.#refused.has(socket)) return;
    this.#refused.add(socket);
    const latest = this.#latest.get(socket);
    // A request that is not complete is itself what is being refused, unless it has been answered early.
    const own = latest !== undefined && !latest.last.req.complete ? latest.last : undefined;
    const before = own === undefined ? latest?.last : latest?.beforeLast;
    const end = (): void => {
      if (own?.headersSent) onClosed(own, () => socket.end());
      else answer(socket, refusal);
    };
    if (before === undefined) end();
    else onClosed(before, end);
  }
}

function onClosed(response: ServerResponse, callback: () => void): void {
  if (response.closed) callback();
  else response.once("close", callback);
}

function answer(socket: Duplex, { httpStatus, status, message, header = "" }: Refusal): void {
  if (!socket.writable) return;
  const body = JSON.stringify({ status, message });
  const head = `HTTP/1.1 ${httpStatus}\r\nconnection: close\r\n${header}content-type: application/json\r\n`;
  socket.end(`${head}content-length: ${body.length}\r\n\r\n${body}`);
}
