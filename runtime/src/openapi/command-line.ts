/**
 * Command lines that make the calls of the page in a POSIX shell.
 */
import type { CallOptions } from "../client/client.ts";
import { encodeEnvelope } from "../grpc/envelope.ts";

/** Quotes a word for a POSIX shell. */
const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** Returns the line that calls a server streaming method over gRPC-Web: `printf` writes the envelope of the message. */
export function curlLine(url: string, json: string, options: CallOptions): string {
  const { timeoutMs } = options;
  const timeout = timeoutMs === undefined ? [] : [`grpc-timeout: ${timeoutMs}m`];
  const headers = headerOptions("-H", [
    "content-type: application/grpc-web+json",
    ...selectorFields(options),
    ...timeout,
  ]);
  const body = Array.from(encodeEnvelope(new TextEncoder().encode(json)), octal).join("");
  return `printf ${quoted(body)} | curl --no-buffer --data-binary @- ${headers} ${quoted(url)}`;
}

/** Escapes a byte for the format of `printf`, in which `%` and the backslash have a meaning. */
function octal(byte: number): string {
  const isPlain = byte >= 0x20 && byte < 0x7f && byte !== 0x25 && byte !== 0x5c;
  return isPlain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, "0")}`;
}

/** Returns the line that calls a method over gRPC with the messages in the text. The server needs reflection. */
export function grpcurlLine(origin: string, path: string, json: string, options: CallOptions): string {
  const { protocol, host } = new URL(origin);
  const { timeoutMs } = options;
  const words = [
    "grpcurl",
    // With -H, grpcurl would send them to the reflection service too, which has no version.
    headerOptions("-rpc-header", selectorFields(options)),
    // In seconds: the deadline of the call.
    timeoutMs === undefined ? "" : `-max-time ${timeoutMs / 1_000}`,
    `-d ${quoted(json)}`,
    protocol === "https:" ? "" : "-plaintext",
    quoted(host),
    quoted(path.slice(1)),
  ];
  return words.filter((word) => word !== "").join(" ");
}

/** The headers that select the version and group of a service. */
function selectorFields({ version, group }: CallOptions): string[] {
  return [...(version ? [`tri-service-version: ${version}`] : []), ...(group ? [`tri-service-group: ${group}`] : [])];
}

/** Returns an option of curl or grpcurl for each header. */
function headerOptions(option: string, fields: readonly string[]): string {
  return fields.map((field) => `${option} ${quoted(field)}`).join(" ");
}
