/**
 * The exceptions from a proxy in the variable `NO_PROXY`, by the rules of Go's `httpproxy`, which grpc-go uses.
 *
 *     NO_PROXY → "*" | entry *("," entry)
 *     entry    → (IP | name | "." name | "*." name) [":" port] | IP "/" bits      IPv6 with a port in brackets
 *
 * `name` includes its subdomains; `.name` and `*.name` are only these. White space around entries is ignored.
 */
import { BlockList, isIP } from "node:net";
import { domainToASCII } from "node:url";

/** An address to connect to. */
export interface ProxiedAddress {
  /** A name or an IP address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Reports whether connections to an address use no proxy. Those to `localhost` and to loopback addresses never do. */
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
