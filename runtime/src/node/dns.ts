/**
 * The resolver of names in the DNS: A and AAAA records, SRV records (RFC 2782), and service configs in TXT records (gRFC A2). It asks again
 * when the records are out of date and when a connection is lost: new servers get calls without anybody restarting.
 */
import { Resolver as DnsResolver, lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { hostname } from "node:os";
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import type { Endpoint, Resolver } from "../discovery/endpoint.ts";
import { startQuietTimer, unlessAborted } from "./io/timer.ts";
import { chooseServiceConfig } from "./service-config-record.ts";

export interface DnsOptions {
  /** Addresses of the DNS servers to ask, such as `10.0.0.2` or `10.0.0.2:53`. Default: those of the system. */
  readonly servers?: readonly string[] | undefined;
  /** The addresses to use: of IPv4, of IPv6, or 0 for both. Default: 0. */
  readonly family?: 0 | 4 | 6 | undefined;
  /**
   * Reads a service config from the TXT record `_grpc_config.NAME` (gRFC A2). Default: false, because whoever writes the record decides about
   * retries and time limits.
   */
  readonly serviceConfig?: boolean | undefined;
}

/** Answers are out of date after the least of their TTLs, in milliseconds, within these bounds. */
const MIN_TTL_MS = 1_000;
const MAX_TTL_MS = 30_000;
/** For records whose TTL Node does not tell: SRV, and what the system's own resolution finds. */
const UNKNOWN_TTL_MS = 5_000;
/** A name is asked for once in this time by a process, however many transports use it. */
const SHARED_MS = 1_000;
const QUERY = { timeout: 2_000, tries: 2 };

/** Endpoints, and when they are out of date. */
interface Answer {
  readonly endpoints: readonly Endpoint[];
  readonly ttlMs: number;
  readonly serviceConfig: unknown;
}

interface Addresses {
  readonly hosts: readonly string[];
  readonly ttlMs: number;
}

/**
 * Makes the resolver of a name. With a port, `greet.example.com:50051`, each address of the name is an endpoint; without one the SRV records of
 * `_grpc._tcp.NAME` say where the endpoints are and how heavy; a name that begins with `_` is that of the SRV records itself.
 *
 * A name that does not exist has no endpoints. Servers that do not answer, or refuse to, leave the last list in force. Throws a `TypeError`
 * for an invalid name.
 */
export function dns(name: string, options: DnsOptions = {}): Resolver {
  const { host, port } = parseName(name);
  const key = JSON.stringify([name, options.servers, options.family, options.serviceConfig]);
  const resolver = new DnsResolver(QUERY);
  if (options.servers !== undefined) resolver.setServers(options.servers);
  const query = new Query(resolver, options);
  const ask = (): Promise<Answer> => query.ask(host, port);
  const resolve: Resolver = async function* ({ signal, next, configure }) {
    for (;;) {
      const { endpoints, ttlMs, serviceConfig } = await unlessAborted(shared(key, ask), signal);
      if (options.serviceConfig) configure(serviceConfig);
      yield endpoints;
      await next(ttlMs);
    }
  };
  const authority = host.replace(/^_[^.]+\._[^.]+\./, "");
  return Object.assign(resolve, { authority: port === undefined ? authority : name });
}

/**
 * Reads a name, with the port that makes it one of A and AAAA records.
 *
 *     Name → host [ ":" port ] / "[" IPv6 "]" ":" port
 */
function parseName(name: string): { readonly host: string; readonly port: number | undefined } {
  const [, v6, text, digits] = /^(?:\[([0-9a-fA-F:.]+)\](?=:)|([^\s:/?#[\]@]+))(?::([0-9]{1,5}))?$/.exec(name) ?? [];
  const host = v6 ?? text;
  const port = digits === undefined ? undefined : Number(digits);
  if (host !== undefined && (port === undefined || (port >= 1 && port <= 65_535))) return { host, port };
  throw new TypeError(
    `dns("${name}") must be a name with a port, such as greet.example.com:50051, or without one for SRV`,
  );
}

/** Answers that are being asked for or were given a moment ago, by what was asked. */
const recent = new Map<string, Promise<Answer>>();

function shared(key: string, ask: () => Promise<Answer>): Promise<Answer> {
  const known = recent.get(key);
  if (known !== undefined) return known;
  const answer = ask();
  recent.set(key, answer);
  const forget = (): void => {
    startQuietTimer(SHARED_MS, () => recent.delete(key));
  };
  answer.then(forget, forget);
  return answer;
}

class Query {
  readonly #resolver: DnsResolver;
  readonly #options: DnsOptions;
  /** The names that only the system's own resolution knows: of /etc/hosts, or with a search domain. */
  readonly #systemNames = new Set<string>();

  constructor(resolver: DnsResolver, options: DnsOptions) {
    this.#resolver = resolver;
    this.#options = options;
  }

  async ask(host: string, port: number | undefined): Promise<Answer> {
    const [{ endpoints, ttlMs }, serviceConfig] = await Promise.all([
      port === undefined ? this.#services(host) : this.#endpoints(host, port),
      this.#options.serviceConfig ? this.#serviceConfig(host) : undefined,
    ]);
    return { endpoints, ttlMs: Math.min(MAX_TTL_MS, Math.max(MIN_TTL_MS, ttlMs)), serviceConfig };
  }

  async #endpoints(host: string, port: number, weight?: number) {
    const { hosts, ttlMs } = await this.#addresses(host);
    const endpoints = hosts.map((one): Endpoint => {
      const address = isIP(one) === 6 ? `[${one}]:${port}` : `${one}:${port}`;
      return weight === undefined ? { address } : { address, weight };
    });
    return { endpoints, ttlMs };
  }

  /** The endpoints of SRV records: those of the lowest priority. A target of "." says that there is no such service. */
  async #services(host: string) {
    const name = host.startsWith("_") ? host : `_grpc._tcp.${host}`;
    const records = await answerOf(this.#resolver.resolveSrv(name), name);
    const lowest = Math.min(...records.map(({ priority }) => priority));
    const chosen = records.filter((record) => record.priority === lowest && record.name !== "" && record.name !== ".");
    const isWeighted = chosen.some(({ weight }) => weight > 0);
    const all = await Promise.all(
      chosen.map((record) => this.#endpoints(record.name, record.port, isWeighted ? record.weight : undefined)),
    );
    return {
      endpoints: all.flatMap(({ endpoints }) => endpoints),
      ttlMs: Math.min(UNKNOWN_TTL_MS, ...all.map(({ ttlMs }) => ttlMs)),
    };
  }

  async #addresses(host: string): Promise<Addresses> {
    if (isIP(host) !== 0) return { hosts: [host], ttlMs: MAX_TTL_MS };
    // Servers that are given know nothing of the system's names.
    const mayBeSystem = this.#options.servers === undefined;
    if (mayBeSystem && (!host.includes(".") || this.#systemNames.has(host))) return this.#systemAddresses(host);
    const { family = 0 } = this.#options;
    const [v4, v6] = await Promise.allSettled([
      family === 6 ? [] : answerOf(this.#resolver.resolve4(host, { ttl: true }), host),
      family === 4 ? [] : answerOf(this.#resolver.resolve6(host, { ttl: true }), host),
    ]);
    const records = [v4, v6].flatMap((one) => (one.status === "fulfilled" ? one.value : []));
    if (records.length > 0) {
      const ttlMs = Math.min(...records.map(({ ttl }) => ttl)) * 1_000;
      return { hosts: records.map(({ address }) => address), ttlMs };
    }
    for (const one of [v4, v6]) if (one.status === "rejected") throw one.reason;
    return mayBeSystem ? this.#systemAddresses(host) : NO_ADDRESSES;
  }

  /** The system's resolution of a name: by /etc/hosts, search domains and its other configuration. */
  async #systemAddresses(host: string): Promise<Addresses> {
    const { family = 0 } = this.#options;
    const found = await answerOf(lookup(host, { all: true, family }), host);
    if (found.length > 0) this.#systemNames.add(host);
    else this.#systemNames.delete(host);
    return { hosts: found.map(({ address }) => address), ttlMs: UNKNOWN_TTL_MS };
  }

  /** The config that is meant for this client. Without a record, or with one that cannot be had now, there is none. */
  async #serviceConfig(host: string): Promise<unknown> {
    const records = await this.#resolver.resolveTxt(`_grpc_config.${host}`).catch(() => []);
    return chooseServiceConfig(records, hostname(), Math.random);
  }
}

const NO_ADDRESSES: Addresses = { hosts: [], ttlMs: UNKNOWN_TTL_MS };

/** Codes of c-ares and getaddrinfo for a name without records. All other errors are failures of the DNS. */
const NOTHING: ReadonlySet<string | undefined> = new Set(["ENOTFOUND", "ENODATA"]);

async function answerOf<Record>(records: Promise<Record[]>, name: string): Promise<Record[]> {
  try {
    return await records;
  } catch (cause) {
    const { code } = cause as { readonly code?: string };
    if (NOTHING.has(code)) return [];
    throw new RpcError(Code.Unavailable, `the DNS does not answer for ${name}: ${code ?? cause}`, { cause });
  }
}
