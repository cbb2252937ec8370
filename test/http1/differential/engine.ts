/** The verdict of the engine, in both roles. */
import { isDeepStrictEqual } from "node:util";
import { Client } from "../client.ts";
import { Peer, respond } from "../peer.ts";
import type { Input } from "./messages.ts";
import type { Message, Verdict } from "./verdict.ts";

function parseRequests(text: string, ends: readonly number[]): Verdict {
  const positions: number[] = [];
  const peer = new Peer({}, () => {});
  let end = 0;
  for (const chunk of chunksOf(text, ends)) {
    peer.connection.receive(chunk);
    end += chunk.length;
    // Input after a request waits for its response, so what has been taken is the position of its end.
    for (;;) {
      const request = peer.requests[positions.length];
      if (request?.end !== "whole") break;
      positions.push(end - peer.connection.waiting);
      respond(request.exchange);
    }
  }
  const messages = peer.requests.map(({ head: { method, path, minor, fields }, chunks, end }, i): Message => {
    const line = [method, path, String(minor)];
    return { line, fields, body: chunks.join(""), end: positions[i] ?? -1, isWhole: end === "whole" };
  });
  return toVerdict(messages, peer.refusals[0]?.[1]);
}

function parseResponses(text: string, isHead: boolean, ends: readonly number[]): Verdict {
  const positions: number[] = [];
  const client = new Client(Number.POSITIVE_INFINITY, isHead ? "HEAD" : "GET");
  const { seen, connection } = client;
  let end = 0;
  for (const chunk of chunksOf(text, ends)) {
    connection.receive(chunk);
    end += chunk.length;
    if (seen[positions.length]?.end !== "whole") continue;
    positions.push(end);
    if (!connection.isOver) client.next();
  }
  const reason = client.error;
  if (!connection.isOver) connection.receiveEnd();
  const messages = seen
    .filter(({ status }) => status > 0)
    .map(({ status, fields, body, end }, i): Message => {
      const isWhole = end === "whole";
      return { line: [String(status)], fields, body, end: positions[i] ?? (isWhole ? text.length : -1), isWhole };
    });
  return toVerdict(messages, reason);
}

/** A request whose body is refused in the chunk of its head is not reported, so that no message is that is refused later. */
function toVerdict(messages: readonly Message[], reason: string | undefined): Verdict {
  const isRefused = reason !== undefined;
  return { messages: isRefused ? messages.filter(({ isWhole }) => isWhole) : messages, isRefused, reason };
}

function chunksOf(text: string, ends: readonly number[]): Uint8Array[] {
  const bytes = Buffer.from(text, "latin1");
  const inner = ends.filter((end, i) => end > (ends[i - 1] ?? 0) && end < bytes.length);
  // Each chunk has memory of its own, as a read of a socket has.
  return [...inner, bytes.length].map((end, i) => new Uint8Array(bytes.subarray(inner[i - 1] ?? 0, end)));
}

/**
 * Returns the engine's verdict. Responses are passed byte by byte, because otherwise their ends are not known, and bytes after one in
 * its chunk end the connection.
 */
export function verdictOf(input: Input): Verdict {
  if (input.role === "request") return parseRequests(input.text, []);
  return parseResponses(
    input.text,
    input.isHead,
    Array.from({ length: input.text.length }, (_, i) => i),
  );
}

/**
 * Reports whether the engine makes the same of an input in other chunks. The reason of a refusal may be another one if there are two:
 * lines are parsed as they arrive, so a limit may be exceeded after an invalid one.
 */
export function isSameInChunks({ role, isHead, text, ends }: Input, { messages, isRefused }: Verdict): boolean {
  if (role === "request") {
    const other = parseRequests(text, ends);
    return isDeepStrictEqual([other.messages, other.isRefused], [messages, isRefused]);
  }
  // The end of the chunk in which a response ends is not its end, and there may be no other response.
  const first = (list: readonly Message[], isNone: boolean): unknown =>
    list[0] === undefined ? isNone : { ...list[0], end: 0 };
  return [[], ends].every((cuts) => {
    const other = parseResponses(text, isHead, cuts);
    return isDeepStrictEqual(first(other.messages, other.isRefused), first(messages, isRefused));
  });
}
