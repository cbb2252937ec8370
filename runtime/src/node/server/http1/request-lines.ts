/**
 * The request lines of an HTTP/1.1 connection (RFC 9112, section 3). `node:http` does not expose them, and its parser
 * accepts some invalid ones without a report.
 */
import type { IncomingMessage } from "node:http";
import type { Metadata } from "../../../call/metadata.ts";
import { type ErrorResponse, MALFORMED_LINE, WRONG_VERSION } from "./errors.ts";

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const END_OF_HEAD = "\r\n\r\n";

/** Most bytes of incomplete headers that are kept. The line of a request with more is not checked. */
const MAX_INCOMPLETE_BYTES = 16 * 1024;

/** The parts of a request line. */
export type Line = Pick<IncomingMessage, "method" | "url" | "httpVersion">;

/** Finds the request lines in the data of a connection. */
export class RequestLines {
  /** The data that is being parsed, and the start of its first request, if that was received before. */
  #data: Buffer | undefined;
  /** Where the next request starts in the data; beyond its end while a body is received. `undefined`: not known. */
  #next: number | undefined = 0;
  /** The start of a request whose headers are incomplete. */
  #incomplete: Buffer | undefined;
  /** True if the request that is received has the field Upgrade. */
  #isUpgrade = false;

  /** Takes data before it is parsed. `idle` reports that all requests before are complete. */
  begin(chunk: Buffer, idle: boolean): void {
    if (idle) {
      this.#next ??= 0;
      this.#isUpgrade = false;
    }
    this.#data = this.#incomplete === undefined ? chunk : Buffer.concat([this.#incomplete, chunk]);
  }

  /**
   * Ends the data: it has been parsed. Reports whether the parser may have dropped bytes after a request with the field
   * Upgrade: it ends such a read with the request. After a chunked body, that is not known.
   */
  end(): boolean {
    const data = this.#data as Buffer;
    this.#data = undefined;
    this.#incomplete = undefined;
    if (this.#next === undefined) return this.#isUpgrade;
    const isDropped = this.#isUpgrade && skipLineEnds(data, Math.max(0, this.#next)) < data.byteLength;
    const incomplete = data.byteLength - this.#next;
    this.#next = incomplete > MAX_INCOMPLETE_BYTES ? undefined : Math.max(0, -incomplete);
    // A copy, because the data may contain a large body too.
    if (this.#next === 0 && incomplete > 0) this.#incomplete = Buffer.from(data.subarray(-incomplete));
    return isDropped;
  }

  /**
   * Validates the line of a request whose headers have just been parsed. Returns the response to one with more than one space
   * between its parts, or of another protocol, such as RTSP. A request that is pipelined after a chunked body, and begins in
   * the same read, is not checked.
   */
  validate({ method, url, httpVersion }: Line, headers: Metadata): ErrorResponse | undefined {
    this.#isUpgrade = headers.has("upgrade");
    const data = this.#data;
    if (data === undefined || this.#next === undefined) return undefined;
    const start = skipLineEnds(data, this.#next);
    this.#next = endOf(headers, data, start);
    const target = `${method} ${url} `;
    const expected = `${target}HTTP/${httpVersion}\r\n`;
    if (data.toString("latin1", start, start + expected.length) === expected) return undefined;
    const line = data.toString("latin1", start, data.indexOf(LINE_FEED, start) + 1).replace(/ {2,}/g, " ");
    if (line === expected) return MALFORMED_LINE;
    return line.startsWith(target) && !line.startsWith("HTTP/", target.length) ? WRONG_VERSION : undefined;
  }
}

/** Empty lines before a request are allowed (RFC 9112, section 2.2). */
function skipLineEnds(data: Buffer, start: number): number {
  let position = start;
  while (data[position] === CARRIAGE_RETURN || data[position] === LINE_FEED) position++;
  return position;
}

/** Returns where a request ends that starts at `start`, `undefined` if that is not known. */
function endOf(headers: Metadata, data: Buffer, start: number): number | undefined {
  if (headers.has("transfer-encoding")) return undefined;
  const end = data.indexOf(END_OF_HEAD, start, "latin1");
  return end < 0 ? undefined : end + END_OF_HEAD.length + Number(headers.get("content-length") ?? 0);
}
