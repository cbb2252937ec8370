/** The head of a request: its line, its fields and what they say about the message (RFC 9112, sections 3 and 5). */
import { MessageError, malformed } from "./error.ts";
import { Framing } from "./framing.ts";
import type { HeadSyntax } from "./head.ts";
import { MAX_METHOD_LENGTH } from "./limits.ts";
import { BITS, Bit, Character, consistsOf } from "./syntax.ts";

/** The head of a request. Requests with equal heads share it. */
export interface RequestHead {
  readonly method: string;
  /** The path with its query, or `*`. */
  readonly path: string;
  /** The minor version: 1 or 0. */
  readonly minor: number;
  /** Names in lower case and values, in turn. `host` is that of the target, if the target has one. */
  readonly fields: readonly string[];
  /** The length of the body, or `CHUNKED`. */
  readonly length: number;
  /** True if the client ends the connection after the response. */
  readonly closes: boolean;
  /** True if the client waits for 100 (Continue) before it sends the body. */
  readonly expects: boolean;
  /** The result that the server keeps for all requests with this head; see `memo` of `HttpRequest`. */
  result: unknown;
}

export interface RequestLine {
  readonly method: string;
  readonly path: string;
  /** The host and port of a target in absolute-form, which replace the field `host` (RFC 9112, section 3.2.2). */
  readonly authority: string | undefined;
  readonly minor: number;
}

// request-line = method SP request-target SP HTTP-version CRLF    (RFC 9112, section 3)
// A server may accept other whitespace between the parts. This one does not.
function parseLine(line: string): RequestLine {
  let at = 0;
  while (((BITS[line.charCodeAt(at)] as number) & Bit.Token) !== 0) at++;
  if (at === 0 || line.charCodeAt(at) !== Character.Space) throw malformed();
  const method = line.slice(0, at);
  const start = ++at;
  while (((BITS[line.charCodeAt(at)] as number) & Bit.Target) !== 0) at++;
  if (line.charCodeAt(at) !== Character.Space || at === start) throw lineError(line, "");
  const target = line.slice(start, at);
  const version = line.slice(at + 1);
  if (version !== "HTTP/1.1\r\n" && version !== "HTTP/1.0\r\n") throw lineError(line, version);
  if (method === "CONNECT") {
    throw new MessageError(405, "calls use the method POST, not CONNECT", ["allow", "POST"]);
  }
  if (method.length > MAX_METHOD_LENGTH) throw malformed();
  const minor = version.charCodeAt(7) - 0x30;
  if (target.startsWith("/") || (target === "*" && method === "OPTIONS")) {
    return { method, path: target, authority: undefined, minor };
  }
  return { method, minor, ...parseAbsolute(target) };
}

// HTTP-version = HTTP-name "/" DIGIT "." DIGIT    (RFC 9112, section 2.3)
const OTHER_VERSION = /^[A-Z]+\/\d\.\d\r\n$/;

/** Returns the error of a line with these characters after its target. */
function lineError(line: string, version: string): MessageError {
  if (OTHER_VERSION.test(version)) {
    return new MessageError(505, "the version in the request line must be HTTP/1.1 or HTTP/1.0");
  }
  return line.includes("  ")
    ? malformed("the parts of the request line must be separated by one space each")
    : malformed();
}

// absolute-form = absolute-URI    (RFC 9112, section 3.2.2: a server must accept it)
// URLs of other schemes than these and those of WebSocket are for proxies.
const ABSOLUTE_FORM = /^(?:http|ws)s?:\/\/([^/?#]*)/i;

/** Parses a whole URL. Proxies receive it, and some forward it. */
function parseAbsolute(target: string): Pick<RequestLine, "path" | "authority"> {
  const [origin, authority] = ABSOLUTE_FORM.exec(target) ?? [];
  if (origin === undefined) throw malformed();
  if (!isHost(authority)) throw malformed("the URL in the request line must have a host, with an optional port");
  const path = target.slice(origin.length);
  return { path: path.startsWith("/") ? path : `/${path}`, authority };
}

// host [ ":" port ], in which a host is a name or an address in brackets    (RFC 3986, section 3.2)
const HOST_AND_PORT = /^(?:[^:[\],]+|\[[^[\]]+\])(?::[0-9]{0,5})?$/;

/** Reports whether this is one host, with an optional port, and no user. */
function isHost(text: string | undefined): boolean {
  return text !== undefined && HOST_AND_PORT.test(text) && consistsOf(text, Bit.Host);
}

function createHead(line: RequestLine, fields: string[]): RequestHead {
  const { method, path, authority, minor } = line;
  const framing = new Framing();
  let host = -1;
  let expects = false;
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string;
    const value = fields[i + 1] as string;
    if (name === "host") {
      if (host >= 0 || value.includes(",")) throw malformed(ONE_HOST);
      if (value !== "" && !isHost(value)) throw malformed("the header host must be a host, with an optional port");
      host = i;
    } else if (name === "expect") {
      if (minor === 0) continue;
      if (expects || value.toLowerCase() !== "100-continue") {
        throw new MessageError(417, "the only expectation that is supported is 100-continue");
      }
      expects = true;
    } else framing.read(name, value);
  }
  if (host < 0 && minor > 0) throw malformed(ONE_HOST);
  const { length = 0 } = framing;
  // The framing of such a message is faulty (RFC 9112, section 6.1): a proxy may have read it in another way.
  if (minor === 0 && length < 0) throw malformed("a request over HTTP/1.0 must not have the header transfer-encoding");
  if (authority !== undefined) {
    if (host < 0) fields.push("host", authority);
    else fields[host + 1] = authority;
  }
  return { method, path, minor, fields, length, closes: framing.closes || minor === 0, expects, result: undefined };
}

const ONE_HOST = "a request must have one header host";

export const REQUEST_SYNTAX: HeadSyntax<RequestLine, RequestHead> = {
  checkStart(chunk, at, held) {
    const first = chunk[at] as number;
    if (held === 0 && ((BITS[first] as number) & Bit.Token) === 0 && first !== Character.Cr) throw malformed();
  },
  parseLine,
  createHead,
};
