/**
 * Proxies of a client: tunnels by the method CONNECT of HTTP/1.1 (RFC 9110, section 9.3.6), for all protocols, with TLS or without.
 */
import type { Socket } from "node:net";
import { HeadReader, type HeadSyntax } from "../../http1/head.ts";
import { RESPONSE_SYNTAX, type StatusLine } from "../../http1/response.ts";
import { VERSION } from "../../version.ts";
import { bypassesProxy, type ProxiedAddress } from "./no-proxy.ts";

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
