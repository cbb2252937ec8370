/**
 * Addresses of clients behind proxies, from the headers `x-forwarded-for` and `forwarded` (RFC 7239). A client can send these
 * headers too, so only entries that trusted proxies have added are used: from the right, up to the first address that is not
 * a trusted proxy.
 */
import { BlockList, isIP } from "node:net";
import { assertMembers, assertOneOf } from "../../call/option.ts";
import type { PeerConnection } from "../../call/peer.ts";
import type { Exchange, HttpRequest } from "../../http/exchange.ts";
import { withoutMapping } from "./peer.ts";

/** The proxies that a server believes, and the header that they write. */
export interface TrustProxyOptions {
  /** Addresses of the proxies, such as `10.0.0.7`, and networks, such as `10.0.0.0/8` or `::1/128`. */
  readonly addresses: readonly string[];
  /**
   * The header to which the proxies append the address of their client. The other header is ignored. Default:
   * `x-forwarded-for`.
   */
  readonly header?: "x-forwarded-for" | "forwarded" | undefined;
}

/** Replaces the peer by the client that trusted proxies report. Throws a `TypeError` for an invalid option. */
export function withTrustedProxies(exchange: Exchange, options: TrustProxyOptions | undefined): Exchange {
  if (options === undefined) return exchange;
  const { addresses, header = "x-forwarded-for" } = Object(options) as TrustProxyOptions;
  assertOneOf("trustProxy.header", header, ["x-forwarded-for", "forwarded"]);
  const trusted = listOf(addresses);
  assertMembers("trustProxy", options, ["addresses", "header"]);

  function clientOf({ headers }: HttpRequest, peer: PeerConnection): PeerConnection {
    let { address, port } = peer;
    const named = headers.getAll(header).flatMap(header === "forwarded" ? splitElements : (value) => value.split(","));
    // The peer of a Unix domain socket has no address. It is a process of this machine, so it is trusted.
    while (named.length > 0 && (address === undefined || isTrusted(trusted, address))) {
      address = readAddress(named.pop() as string, header);
      port = undefined;
      // The client is unknown, and it may have forged the entries further to the left.
      if (address === undefined) break;
    }
    return { address, port, protocol: peer.protocol, tls: peer.tls };
  }

  return (request) => {
    const { peer } = request;
    if (peer !== undefined) {
      let client: PeerConnection | undefined;
      const get = (): PeerConnection => {
        client ??= clientOf(request, peer);
        return client;
      };
      Object.defineProperty(request, "peer", { get });
    }
    return exchange(request);
  };
}

function listOf(addresses: readonly string[]): BlockList {
  if (!Array.isArray(addresses) || addresses.length === 0) {
    throw new TypeError('trustProxy takes { addresses: ["10.0.0.0/8"] }');
  }
  const list = new BlockList();
  for (const entry of addresses) {
    const [address = "", bits, more] = String(entry).split("/");
    const version = isIP(address);
    const length = bits === undefined ? (version === 4 ? 32 : 128) : Number(bits);
    const isNetwork = /^\d+$/.test(bits ?? "0") && length <= (version === 4 ? 32 : 128) && more === undefined;
    if (version === 0 || !isNetwork) {
      throw new TypeError(`trustProxy: "${entry}" is neither an IP address nor a network such as 10.0.0.0/8`);
    }
    list.addSubnet(address, length, version === 4 ? "ipv4" : "ipv6");
  }
  return list;
}

function isTrusted(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");
}

//     element = [ pair ] *( ";" [ pair ] )    pair = token "=" ( token / quoted-string )    ; RFC 7239, section 4
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z:[\\]-]+";
const PAIR = `[ \\t]*(?:${TOKEN}[ \\t]*=[ \\t]*(?:${TOKEN}|"(?:[^"\\\\]|\\\\.)*")[ \\t]*)?`;
const ELEMENT = new RegExp(`^${PAIR}(?:;${PAIR})*$`);
/** Maximum number of parts between commas in one element, so that a hostile value takes little time. */
const MAX_PARTS = 16;

/**
 * Splits a value of `forwarded` at the commas outside of quoted strings, from the right: an unclosed quote of a client
 * does not change the elements that proxies appended, and text that a proxy has quoted, such as a host, is not an
 * element.
 */
function splitElements(value: string): string[] {
  const parts = value.split(",");
  /** From the right: adding at the front would move all others each time. */
  const elements: string[] = [];
  let end = parts.length;
  for (let start = end - 1; start >= 0 && end - start <= MAX_PARTS; start--) {
    const element = parts.slice(start, end).join(",");
    if (!ELEMENT.test(element)) continue;
    elements.push(element);
    end = start;
  }
  // The rest is malformed; the client before it is unknown.
  if (end > 0) elements.push(parts.slice(0, end).join(","));
  return elements.reverse();
}

/**
 * Returns the address in an entry; `undefined` for anything else, such as `unknown` or `_hidden`.
 *
 *     x-forwarded-for → address / address ":" port / "[" IPv6 "]" [ ":" port ]
 *     forwarded       → … "for=" value …           ; quoted if it contains a colon
 */
function readAddress(entry: string, header: string): string | undefined {
  const text = header === "forwarded" ? forParameter(entry) : entry;
  const trimmed = text.trim();
  const address =
    isIP(trimmed) > 0 ? trimmed : (/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(trimmed) ?? []).slice(1).join("");
  return isIP(address) > 0 ? withoutMapping(address) : undefined;
}

/** Returns the parameter `for` of an element of `forwarded`; empty if there is none, or more than one. */
function forParameter(element: string): string {
  if (!ELEMENT.test(element)) return "";
  const pairs = element.match(/(?:[^";]|"(?:[^"\\]|\\.)*")+/g) ?? [];
  const values = pairs.flatMap((pair) => /^\s*for\s*=\s*"?([^"]*)/i.exec(pair)?.[1] ?? []);
  return values.length === 1 ? (values[0] as string) : "";
}
