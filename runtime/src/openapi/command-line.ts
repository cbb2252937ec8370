/**
 * Command lines that make the calls of the page in a POSIX shell.
 */
import type { CallOptions } from "../client/client.ts";
import { encodeEnvelope } from "../grpc/envelope.ts";

/** The options of a call whose headers are text. */
export interface LineOptions extends CallOptions {
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Quotes a word for a POSIX shell. */
const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** Returns the line that calls a server streaming method over gRPC-Web: `printf` writes the envelope of the message. */
export function curlLine(url: string, json: string, options: LineOptions): string {
  const { timeoutMs } = options;
  const timeout = timeoutMs === undefined ? [] : [`grpc-timeout: ${timeoutMs}m`];
  const headers = headerOptions("-H", [
    "content-type: application/grpc-web+json",
    ...selectorFields(options),
    ...timeout,
    ...ownFields(options),
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
export function grpcurlLine(origin: string, path: string, json: string, options: LineOptions): string {
  const { protocol, host } = new URL(origin);
  const { timeoutMs } = options;
  const words = [
    "grpcurl",
    // With -H, grpcurl also sends them to the reflection service, whose calls need the same authorization.
    headerOptions("-H", ownFields(options)),
    // Not with -H, because the reflection service has no version.
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

/** The headers of the call that the options contain as such. */
function ownFields({ headers = {} }: LineOptions): string[] {
  return Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
}

/** The headers that select the version and group of a service. */
function selectorFields({ version, group }: CallOptions): string[] {
  return [...(version ? [`tri-service-version: ${version}`] : []), ...(group ? [`tri-service-group: ${group}`] : [])];
}

/** Returns an option of curl or grpcurl for each header. */
function headerOptions(option: string, fields: readonly string[]): string {
  return fields.map((field) => `${option} ${quoted(field)}`).join(" ");
}
