/**
 * Command lines that make the calls of the page in a POSIX shell.
 */
import type { CallOptions } from "../client/client.ts";
import { encodeEnvelope } from "../grpc/envelope.ts";

/** Quotes a word for a POSIX shell. */
const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** Returns the line that calls a server streaming method over gRPC-Web: `printf` writes the envelope of the message. */
export function curlLine(url: string, json: string, { version, group, timeoutMs }: CallOptions): string {
  const fields = [
    "content-type: application/grpc-web+json",
    ...(version ? [`tri-service-version: ${version}`] : []),
    ...(group ? [`tri-service-group: ${group}`] : []),
    ...(timeoutMs === undefined ? [] : [`grpc-timeout: ${timeoutMs}m`]),
  ];
  const headers = fields.map((field) => `-H ${quoted(field)}`).join(" ");
  const body = Array.from(encodeEnvelope(new TextEncoder().encode(json)), octal).join("");
  return `printf ${quoted(body)} | curl --no-buffer --data-binary @- ${headers} ${quoted(url)}`;
}

/** Escapes a byte for the format of `printf`, in which `%` and the backslash have a meaning. */
function octal(byte: number): string {
  const isPlain = byte >= 0x20 && byte < 0x7f && byte !== 0x25 && byte !== 0x5c;
  return isPlain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, "0")}`;
}

/** Returns the line that calls a method over gRPC with the messages in the text. The server needs reflection. */
export function grpcurlLine(origin: string, path: string, json: string): string {
  const { protocol, host } = new URL(origin);
  const target = protocol === "https:" ? quoted(host) : `-plaintext ${quoted(host)}`;
  return `grpcurl -d ${quoted(json)} ${target} ${quoted(path.slice(1))}`;
}
