/** Command lines that make the calls of the page in a POSIX shell. */
/** A request as Swagger UI builds it: with the parameters, the authorization and the body that the visitor has entered. */
export interface BuiltRequest {
  readonly url: string;
  readonly method?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Quotes a word for a POSIX shell. */
const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** Returns the line that calls a method over gRPC with the messages in the body. The server needs reflection. */
export function grpcurlLine(path: string, { url, headers, body }: BuiltRequest): string {
  const { protocol, host } = new URL(url);
  const words = [
    "grpcurl",
    ...Object.entries(headers).map(([name, value]) => optionOf(name.toLowerCase(), value)),
    `-d ${quoted(body)}`,
    protocol === "https:" ? "" : "-plaintext",
    quoted(host),
    quoted(path.slice(1)),
  ];
  return words.filter((word) => word !== "").join(" ");
}

/** Returns the option of grpcurl for a header of HTTP RPC; empty text if it has none. */
function optionOf(name: string, value: string): string {
  if (name === "accept" || name === "content-type") return "";
  // In seconds: the deadline of the call.
  if (name === "tri-service-timeout") return `-max-time ${Number(value) / 1_000}`;
  // With -H, grpcurl also sends headers to the reflection service: it needs the same authorization, and has no version.
  const option = name.startsWith("tri-service-") ? "-rpc-header" : "-H";
  return `${option} ${quoted(`${name}: ${value}`)}`;
}
