/** Command lines that make the calls of the page in a POSIX shell. */
import type { CallOptions } from "../client/client.ts";

/** The options of a call whose headers are text. */
export interface LineOptions extends CallOptions {
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Quotes a word for a POSIX shell. */
const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** Returns the line that calls a server streaming method over HTTP RPC, whose messages are events. */
export function curlLine(url: string, json: string, options: LineOptions): string {
  const { timeoutMs } = options;
  const timeout = timeoutMs === undefined ? [] : [`tri-service-timeout: ${timeoutMs}`];
  const headers = headerOptions("-H", [
    "content-type: application/json",
    ...selectorFields(options),
    ...timeout,
    ...ownFields(options),
  ]);
  return `curl --no-buffer ${headers} -d ${quoted(json)} ${quoted(url)}`;
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
