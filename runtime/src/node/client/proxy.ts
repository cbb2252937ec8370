/**
 * Proxies of a client: tunnels by the method CONNECT of HTTP/1.1 (RFC 9110, section 9.3.6), for all protocols, with TLS or without.
 */
import { BlockList, isIP, type Socket } from "node:net";
import { domainToASCII } from "node:url";
import { HeadReader, type HeadSyntax } from "../../http1/head.ts";
import { RESPONSE_SYNTAX, type StatusLine } from "../../http1/response.ts";
import { VERSION } from "../../version.ts";

/** An address to connect to. */
export interface ProxiedAddress {
  /** A name or an IP address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

/** A proxy. Its name, which errors contain, has no credentials. */
export interface HttpProxy extends ProxiedAddress {
  readonly name: string;
  /** The value of the field `proxy-authorization`. */
  readonly authorization: string | undefined;
}

/** Limit of the head of the proxy's response, in bytes. */
const MAX_PROXY_HEAD_BYTES = 16_384;

/** An answer to CONNECT has no body: a client ignores `content-length` and `transfer-encoding` (RFC 9110, section 9.3.6). */
const ANSWER_SYNTAX: HeadSyntax<StatusLine, number> = { ...RESPONSE_SYNTAX, createHead: ({ status }) => status };

/**
 * Returns the proxy for connections to an address by the option `proxy`; `undefined` for none. Throws a `TypeError`, without the
 * value, for a URL that is not that of a proxy.
 */
export function proxyFor(option: string | false | undefined, to: ProxiedAddress): HttpProxy | undefined {
  if (option === undefined || option === false) return undefined;
  if (option !== "env") return parseProxy("proxy", option);
  const url = variable("HTTPS_PROXY");
  if (url === "" || bypassesProxy(variable("NO_PROXY"), to)) return undefined;
  return parseProxy("the variable HTTPS_PROXY", url);
}

/** Returns a variable of the environment. As in Go, the name in upper case takes precedence. */
function variable(name: string): string {
  return process.env[name] || process.env[name.toLowerCase()] || "";
}

function parseProxy(source: string, value: string): HttpProxy {
  try {
    const { protocol, hostname, port, username, password } = new URL(value.includes("://") ? value : `http://${value}`);
    if (protocol === "http:" && hostname !== "") {
      const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
      return {
        host: hostname.startsWith("[") ? hostname.slice(1, -1) : hostname,
        port: Number(port || 80),
        name: `${hostname}:${port || 80}`,
        authorization: credentials === ":" ? undefined : `Basic ${Buffer.from(credentials).toString("base64")}`,
      };
    }
  } catch {
    // The error is reported below without the value, which may contain a password.
  }
  throw new TypeError(
    `${source} must be the URL of a proxy, such as http://proxy.example:3128; other schemes than http are not supported`,
  );
}

/**
 * Reports whether connections to an address use no proxy, by the rules of Go's `httpproxy`, which grpc-go uses. Those to
 * `localhost` and to loopback addresses never do.
 *
 *     NO_PROXY → "*" | entry *("," entry)
 *     entry    → (IP | name | "." name | "*." name) [":" port] | IP "/" bits      IPv6 with a port in brackets
 *
 * `name` includes its subdomains; `.name` and `*.name` are only these. White space around entries is ignored.
 */
export function bypassesProxy(noProxy: string, { host: given, port }: ProxiedAddress): boolean {
  const host = given.toLowerCase();
  if (host === "localhost" || isInRange(host, "127.0.0.0", 8) || isInRange(host, "::1", 128)) return true;
  return noProxy.split(",").some((entry) => matches(entry.trim().toLowerCase(), host, port));
}

function matches(entry: string, host: string, port: number): boolean {
  if (entry === "*") return true;
  const [network = "", bits] = entry.split("/");
  if (bits !== undefined) return isIP(network) !== 0 && isInRange(host, network, Number(bits || Number.NaN));
  const [pattern, only] = splitPort(entry);
  if (pattern === "" || (only !== "" && only !== String(port))) return false;
  if (isIP(pattern) !== 0) return isInRange(host, pattern, isIP(pattern) === 6 ? 128 : 32);
  if (isIP(host) !== 0) return false;
  const name = pattern.startsWith("*.") ? pattern.slice(1) : pattern;
  if (name.startsWith(".")) return host.endsWith(`.${toAscii(name.slice(1))}`);
  return host === toAscii(name) || host.endsWith(`.${toAscii(name)}`);
}

/** Splits an entry into its pattern and its port, which is empty if there is none. An IPv6 address has more colons. */
function splitPort(entry: string): readonly [pattern: string, port: string] {
  const colon = entry.lastIndexOf(":");
  const pattern = entry.slice(0, colon);
  if (pattern.startsWith("[") && pattern.endsWith("]")) return [pattern.slice(1, -1), entry.slice(colon + 1)];
  return colon < 0 || pattern.includes(":") ? [entry, ""] : [pattern, entry.slice(colon + 1)];
}

/** Returns a name of a domain in ASCII, in the form that URLs have (IDNA), or the name itself if it is invalid. */
function toAscii(name: string): string {
  return domainToASCII(name) || name;
}

/** Reports whether a host is an IP address in a network. An IPv4-mapped IPv6 address is the IPv4 address. */
function isInRange(host: string, network: string, bits: number): boolean {
  const [family, isIpv6] = [isIP(host), isIP(network) === 6];
  const [min, max] = isIpv6 ? [family === 4 ? 96 : 0, 128] : [0, 32];
  if (family === 0 || !(Number.isInteger(bits) && bits >= min && bits <= max)) return false;
  const list = new BlockList();
  list.addSubnet(network, bits, isIpv6 ? "ipv6" : "ipv4");
  return list.check(host, family === 6 ? "ipv6" : "ipv4");
}

/** Requests a tunnel on a socket to a proxy. Calls `done` when it exists; otherwise the socket is destroyed with the reason. */
export function openTunnel(
  socket: Socket,
  { authorization }: HttpProxy,
  { host, port }: ProxiedAddress,
  done: () => void,
): void {
  const to = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  const fields = [`host: ${to}`, `user-agent: triple-es/${VERSION}`];
  if (authorization !== undefined) fields.push(`proxy-authorization: ${authorization}`);
  const reader = new HeadReader(MAX_PROXY_HEAD_BYTES, ANSWER_SYNTAX);
  const onReadable = (): void => {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    let end = 0;
    try {
      // Interim responses precede the answer (RFC 9110, section 15.2).
      do end = reader.read(chunk, end);
      while (reader.head !== undefined && reader.head < 200 && end < chunk.byteLength);
    } catch (cause) {
      socket.destroy(new Error("the response of the proxy is malformed", { cause }));
      return;
    }
    const status = reader.head;
    if (status === undefined || status < 200) return;
    if (status > 299) {
      const hint = status === 407 ? ": set user name and password in its URL" : "";
      socket.destroy(new Error(`the proxy answered CONNECT with ${status}${hint}`));
      return;
    }
    socket.off("readable", onReadable);
    // A server may send first: over HTTP/2 its SETTINGS.
    if (end < chunk.byteLength) socket.unshift(chunk.subarray(end));
    done();
  };
  socket.on("readable", onReadable);
  socket.write(`CONNECT ${to} HTTP/1.1\r\n${fields.join("\r\n")}\r\n\r\n`);
}
