/**
 * Validation of HTTP/1.1 requests, and the error responses to requests that no protocol handles.
 */
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { Code, Status } from "../../../call/code.ts";
import type { Metadata } from "../../../call/metadata.ts";
import { errorBody } from "../../../protocol/error.ts";

/** An error response that ends the connection. Its body is the error body of sub-protocol A. */
export interface ErrorResponse {
  /** Status code and reason phrase. */
  readonly httpStatus: string;
  readonly status: Status;
  readonly code: Code;
  readonly message: string;
  /** An additional header field, as a line. */
  readonly header?: string;
}

function badRequest(message: string): ErrorResponse {
  return { httpStatus: "400 Bad Request", status: Status.BadRequest, code: Code.InvalidArgument, message };
}

const MALFORMED: ErrorResponse = badRequest("the request is not HTTP/1.1");
export const MALFORMED_LINE: ErrorResponse = badRequest(
  "the parts of the request line must be separated by one space each",
);
const ONE_HOST: ErrorResponse = badRequest("a request must have one header host");
const INVALID_HOST: ErrorResponse = badRequest("the header host must be a host, with an optional port");
const INVALID_TARGET: ErrorResponse = badRequest("the URL in the request line must have a host, with an optional port");
const INVALID_LENGTH: ErrorResponse = badRequest(`content-length must be at most ${Number.MAX_SAFE_INTEGER}`);
const NO_CODING: ErrorResponse = badRequest("a request over HTTP/1.0 must not have the header transfer-encoding");

/** Responses by the code of the error that `node:http` reports. */
const RESPONSE_OF_CODE: Readonly<Record<string, ErrorResponse>> = {
  HPE_HEADER_OVERFLOW: {
    httpStatus: "431 Request Header Fields Too Large",
    status: Status.BadRequest,
    code: Code.ResourceExhausted,
    message: "the headers of the request are too large (option headerLimits of the receiver)",
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    httpStatus: "408 Request Timeout",
    status: Status.ServerTimeout,
    code: Code.DeadlineExceeded,
    message: "the request did not arrive in time",
  },
};

/** Returns the response to bytes that `node:http` cannot parse, or to a request that did not arrive in time. */
export function errorResponseFor({ code }: NodeJS.ErrnoException): ErrorResponse {
  return RESPONSE_OF_CODE[code ?? ""] ?? MALFORMED;
}

export const NO_TUNNEL: ErrorResponse = {
  httpStatus: "405 Method Not Allowed",
  status: Status.BadRequest,
  code: Code.Unimplemented,
  message: "calls use the method POST, not CONNECT",
  header: "allow: POST\r\n",
};

const NO_EXPECTATION: ErrorResponse = {
  httpStatus: "417 Expectation Failed",
  status: Status.BadRequest,
  code: Code.InvalidArgument,
  message: "the only expectation that is supported is 100-continue",
};

export const WRONG_VERSION: ErrorResponse = {
  httpStatus: "505 HTTP Version Not Supported",
  status: Status.BadRequest,
  code: Code.Unimplemented,
  message: "the version in the request line must be HTTP/1.1 or HTTP/1.0",
};

/** Characters that neither a host nor a port has (RFC 3986, section 3.2.2). */
const NOT_IN_HOST = /[\s"#/<>?@\\^`{|}]/;

const ONLY_CHUNKED: ErrorResponse = {
  httpStatus: "501 Not Implemented",
  status: Status.BadRequest,
  code: Code.Unimplemented,
  message: "the only transfer-encoding that is supported is chunked",
};

/**
 * Validates the version (RFC 9110, section 15.6.6), Host and the authority of the target (RFC 9112, section 3.2), Expect (RFC
 * 9110, section 10.1.1), Content-Length and Transfer-Encoding (RFC 9112, section 6), which `node:http` accepts unchecked or
 * rejects without a message. Returns the response to an invalid request.
 */
export function validateRequest(headers: Metadata, httpVersion: string, authority?: string): ErrorResponse | undefined {
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return WRONG_VERSION;
  const host = headers.get("host");
  // Node joins repeated fields with commas.
  if (host === undefined ? httpVersion !== "1.0" : host.includes(",")) return ONE_HOST;
  if (host !== undefined && NOT_IN_HOST.test(host)) return INVALID_HOST;
  if (authority !== undefined && (authority === "" || NOT_IN_HOST.test(authority))) return INVALID_TARGET;
  const expectation = httpVersion === "1.0" ? undefined : headers.get("expect");
  if (expectation !== undefined && expectation.toLowerCase() !== "100-continue") return NO_EXPECTATION;
  if (Number(headers.get("content-length") ?? 0) > Number.MAX_SAFE_INTEGER) return INVALID_LENGTH;
  const coding = headers.get("transfer-encoding");
  if (coding === undefined) return undefined;
  // The framing of such a message is faulty (RFC 9112, section 6.1): a proxy may have read it in another way.
  if (httpVersion === "1.0") return NO_CODING;
  return coding.toLowerCase() === "chunked" ? undefined : ONLY_CHUNKED;
}

/** Sends an error response and ends the connection, because the start of the next request cannot be found reliably. */
export function sendErrorResponse(response: ServerResponse, error: ErrorResponse): void {
  const body = bodyOf(error);
  const fields = { connection: "close", "content-type": "application/json", "content-length": body.length };
  response.writeHead(Number.parseInt(error.httpStatus, 10), fields).end(body);
}

/** Writes an error response to a socket for which there is no request object, and ends the connection. */
export function writeErrorResponse(socket: Duplex, error: ErrorResponse): void {
  if (!socket.writable) return;
  const { httpStatus, header = "" } = error;
  const body = bodyOf(error);
  const head = `HTTP/1.1 ${httpStatus}\r\nconnection: close\r\n${header}content-type: application/json\r\n`;
  socket.end(`${head}content-length: ${body.length}\r\n\r\n${body}`);
}

function bodyOf({ status, message, code }: ErrorResponse): string {
  return JSON.stringify(errorBody(status, message, code));
}
