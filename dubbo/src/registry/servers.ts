/**
 * The addresses of a registry's servers, and other options that registries share.
 */
import { parseAddress } from "triple-es/internal";
import { networkInterfaces } from "triple-es/internal/node";

/** The identity of a client. */
export interface Credentials {
  readonly username: string;
  readonly password: string;
}

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** Parses addresses, each `host:port`. Throws a `TypeError` for an empty list or an invalid address. */
export function parseServers(registry: string, servers: readonly string[], defaultPort: number): ServerAddress[] {
  if (!Array.isArray(servers) || servers.length === 0) {
    throw new TypeError(`${registry} needs servers, such as ["127.0.0.1:${defaultPort}"]`);
  }
  return servers.map((server) => {
    const address = typeof server === "string" ? parseAddress(server) : undefined;
    if (address !== undefined && "host" in address) return address;
    throw new TypeError(`servers of ${registry} must be host:port or [v6]:port, not ${JSON.stringify(server)}`);
  });
}

/** The largest number of a port. */
export const MAX_PORT = 65_535;

/** Validates an integer. Throws a `RangeError` if it is out of range. */
export function checkInteger(option: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  const [least, most] = [min, max].map((one) => one.toLocaleString("en"));
  throw new RangeError(`${option} must be an integer between ${least} and ${most}, not ${value}`);
}

/** Returns the first IPv4 address of this machine that is not a loopback address, otherwise one of IPv6. */
export function externalHost(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const external = all.filter(({ internal }) => !internal);
  return (external.find(({ family }) => family === "IPv4") ?? external[0])?.address;
}
