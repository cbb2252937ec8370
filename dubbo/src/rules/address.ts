/**
 * Patterns of addresses in rules, as Dubbo for Java reads them:
 *
 *     *  ·  10.0.0.7  ·  10.0.0.7:50051  ·  10.0.*.1-63:50051  ·  10.0.0.0/24  ·  0.0.0.0:50051  ·  [2001:db8::1]:50051
 */
import { BlockList, isIP } from "node:net";

export type AddressTest = (host: string, port: string) => boolean;

/** The parts of an address or a pattern. */
export interface HostAndPort {
  readonly host: string;
  readonly port: string | undefined;
}

/** Makes the test of a pattern. A malformed pattern matches nothing, as in Dubbo. */
export function addressTest(given: string): AddressTest {
  const pattern = given.trim();
  if (pattern === "*" || pattern === "*.*.*.*") return () => true;
  if (pattern.includes("/")) return subnetTest(pattern);
  const { host, port } = splitPort(pattern);
  if (host === "0.0.0.0" && port !== undefined) return (_, actual) => actual === port;
  const test = hostTest(host);
  return (actual, actualPort) => (port === undefined || port === actualPort) && test(unbracketed(actual));
}

/** Splits the port off. An IPv6 address with a port has brackets, and any form of it becomes the shortest one. */
export function splitPort(pattern: string): HostAndPort {
  const [, v6, host = ""] = /^(?:\[([^\]]*)\]|([^:]*))/.exec(pattern) ?? [];
  if (isIP(pattern) === 6) return { host: canonicalV6(pattern), port: undefined };
  const rest = pattern.slice(v6 === undefined ? host.length : v6.length + 2);
  const bare = v6 !== undefined && isIP(v6) === 6 ? canonicalV6(v6) : (v6 ?? host);
  return { host: bare, port: rest.startsWith(":") ? rest.slice(1) : undefined };
}

function subnetTest(pattern: string): AddressTest {
  const [network = "", prefix = ""] = pattern.split("/");
  const family = isIP(network);
  const length = /^[0-9]{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  if (family === 0 || !(length <= (family === 6 ? 128 : 32))) return () => false;
  const subnet = new BlockList();
  subnet.addSubnet(network, length, family === 6 ? "ipv6" : "ipv4");
  return (actual) => {
    const host = unbracketed(actual);
    return isIP(host) === family && subnet.check(host, family === 6 ? "ipv6" : "ipv4");
  };
}

function hostTest(pattern: string): (host: string) => boolean {
  if (isIP(pattern) === 6) {
    const canonical = canonicalV6(pattern);
    return (host) => isIP(host) === 6 && canonicalV6(host) === canonical;
  }
  const segments = pattern.split(".");
  if (isIP(pattern) === 4) return (host) => host === pattern;
  if (segments.length !== 4) return (host) => isIP(host) === 0 && host === pattern;
  const tests = segments.map(segmentTest);
  return (host) => {
    if (isIP(host) !== 4) return host === pattern;
    return host.split(".").every((segment, index) => tests[index]?.(segment));
  };
}

/** Makes the test of one part of an IPv4 address: a number, `*`, or a range. */
function segmentTest(pattern: string): (segment: string) => boolean {
  if (pattern === "*") return () => true;
  const [, min, max] = /^([0-9]{1,9})-([0-9]{1,9})$/.exec(pattern) ?? [];
  if (min === undefined) return (segment) => segment === pattern || (segment === "0" && /^0{1,4}$/.test(pattern));
  return (segment) => Number(segment) >= Number(min) && Number(segment) <= Number(max);
}

const canonicalV6 = (address: string): string => unbracketed(new URL(`http://[${address.split("%", 1)[0]}]`).hostname);

const unbracketed = (host: string): string => (host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host);
