/**
 * The DNS resolver: A and AAAA records, SRV records (RFC 2782), and service configs in TXT records (gRFC A2). It queries
 * again when the records expire and when a connection is lost, so that new servers get calls without a restart of the client.
 */

import { isIP } from "node:net";
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { assertMembers, assertOneOf } from "../call/option.ts";
import { dropsCallbacks, random, startBackgroundTimer } from "../call/platform.ts";
import { unlessAborted } from "../call/timer.ts";
import { type Endpoint, formatAddress, type Resolver } from "../discovery/endpoint.ts";
import { DnsResolver, hostname, lookup } from "./platform.ts";
import { chooseServiceConfig } from "./service-config-record.ts";

/** Options of the resolver {@link dns}. */
export interface DnsOptions {
  /** Addresses of the DNS servers to query, such as `10.0.0.2` or `10.0.0.2:53`. Default: those of the operating system. */
  readonly servers?: readonly string[] | undefined;
  /** The family of the addresses: 4 for IPv4, 6 for IPv6, or 0 for both. Default: 0. */
  readonly family?: 0 | 4 | 6 | undefined;
  /**
   * True if a service config is read from the TXT record `_grpc_config.NAME` (gRFC A2). Default: false, because the owner of
   * the record then controls retries and time limits.
   */
  readonly serviceConfig?: boolean | undefined;
}

/** Answers expire after the smallest of their TTLs, limited to this range, in milliseconds. */
const MIN_TTL_MS = 1_000;
const MAX_TTL_MS = 30_000;
/** The TTL, in milliseconds, where Node reports none: of SRV records, and with the operating system's resolver. */
const UNKNOWN_TTL_MS = 5_000;
/** Time in milliseconds for which all transports of a process share the answer for a name. */
const SHARED_MS = 1_000;
const QUERY = { timeout: 2_000, tries: 2 };

/** Endpoints, and the time until they expire. */
interface Answer {
  readonly endpoints: readonly Endpoint[];
  readonly ttlMs: number;
  readonly serviceConfig: unknown;
  /** Targets of SRV records that the DNS does not resolve. */
  readonly problems: readonly string[];
  readonly targets: Targets;
}

/** The endpoints of each target of the SRV records. */
type Targets = ReadonlyMap<string, readonly Endpoint[]>;

/** The endpoints of one query. */
type Found = Pick<Answer, "endpoints" | "ttlMs"> & Partial<Pick<Answer, "problems" | "targets">>;

interface Addresses {
  readonly hosts: readonly string[];
  readonly ttlMs: number;
}

/**
 * Creates the resolver for a name. If the name has a port, such as `greet.example.com:50051`, each of its addresses is an
 * endpoint. Without a port, the SRV records of `_grpc._tcp.NAME` contain the endpoints and their weights; a name that begins
 * with `_` is itself the name of the SRV records.
 *
 * A name that does not exist has no endpoints. If a query fails, the last list stays in use. Throws a `TypeError` for an
 * invalid name or family.
 */
export function dns(name: string, options: DnsOptions = {}): Resolver {
  const { host, port } = parseName(name);
  assertMembers("the options of dns", options, ["servers", "family", "serviceConfig"]);
  const { family = 0 } = options;
  assertOneOf("family", family, [0, 4, 6]);
  const key = JSON.stringify([name, options.servers, options.family, options.serviceConfig]);
  const resolver = new DnsResolver(QUERY);
  if (options.servers !== undefined) resolver.setServers(options.servers);
  const query = new Query(resolver, options);
  const ask = (): Promise<Answer> => query.ask(host, port);
  const resolve: Resolver = async function* ({ signal, next, configure, warn }) {
    for (;;) {
      const { endpoints, ttlMs, serviceConfig, problems, targets } = await unlessAborted(shared(key, ask), signal);
      query.targets = targets;
      if (options.serviceConfig) configure(serviceConfig);
      for (const problem of problems) warn(problem);
      yield endpoints;
      await next(ttlMs);
    }
  };
  const authority = host.replace(/^_[^.]+\._[^.]+\./, "");
  if (port !== undefined) return Object.assign(resolve, { authority: name });
  const hint = host.startsWith("_") ? "" : `; add a port for its addresses, such as ${host}:50051`;
  return Object.assign(resolve, {
    authority,
    emptyReason: `it has no endpoints in the SRV records of ${serviceName(host)}${hint}`,
  });
}

/**
 * Parses a name and its port. A name with a port is a name of A and AAAA records; without a port it is a name of SRV records.
 *
 *     Name → host [ ":" port ] / "[" IPv6 "]" ":" port
 */
function parseName(name: string): { readonly host: string; readonly port: number | undefined } {
  const [, v6, text, digits] = /^(?:\[([0-9a-fA-F:.]+)\](?=:)|([^\s:/?#[\]@]+))(?::([0-9]{1,5}))?$/.exec(name) ?? [];
  const host = v6 ?? text;
  const port = digits === undefined ? undefined : Number(digits);
  if (typeof name === "string" && host !== undefined && (port === undefined || (port >= 1 && port <= 65_535)))
    return { host, port };
  throw new TypeError(
    `dns(${JSON.stringify(name)}) must be a name with a port, such as greet.example.com:50051, or without one for SRV`,
  );
}

/** Returns the name of the SRV records for a name without a port. */
function serviceName(host: string): string {
  return host.startsWith("_") ? host : `_grpc._tcp.${host}`;
}

/** Current and recent answers, by query. */
const recent = new Map<string, Promise<Answer>>();

function shared(key: string, ask: () => Promise<Answer>): Promise<Answer> {
  const known = recent.get(key);
  if (known !== undefined) return known;
  const answer = ask();
  if (dropsCallbacks) return answer;
  recent.set(key, answer);
  const forget = () => recent.delete(key);
  // After a failure, the next query may succeed.
  answer.then(() => startBackgroundTimer(SHARED_MS, forget), forget);
  return answer;
}

class Query {
  readonly #resolver: DnsResolver;
  readonly #options: DnsOptions;
  /** The names that only the operating system's resolver finds: in /etc/hosts, or with a search domain. */
  readonly #systemNames = new Set<string>();
  /** Those of the last answer, which another query may have given. */
  targets: Targets = new Map();

  constructor(resolver: DnsResolver, options: DnsOptions) {
    this.#resolver = resolver;
    this.#options = options;
  }

  async ask(host: string, port: number | undefined): Promise<Answer> {
    const [{ endpoints, ttlMs: foundMs, problems = [], targets = this.targets }, serviceConfig] = await Promise.all([
      port === undefined ? this.#services(host) : this.#endpoints(host, port),
      this.#options.serviceConfig ? this.#serviceConfig(host) : undefined,
    ]);
    const ttlMs = Math.min(MAX_TTL_MS, Math.max(MIN_TTL_MS, foundMs));
    return { endpoints, ttlMs, serviceConfig, problems, targets };
  }

  async #endpoints(host: string, port: number, weight?: number): Promise<Found> {
    const { hosts, ttlMs } = await this.#addresses(host);
    const endpoints = hosts.map((one): Endpoint => {
      const address = formatAddress(one, port);
      return weight === undefined ? { address } : { address, weight };
    });
    return { endpoints, ttlMs };
  }

  /**
   * Returns the endpoints of the SRV records with the lowest priority value. A target of "." means that the service does not
   * exist. A target that the DNS does not resolve keeps its last addresses, and the others are used.
   */
  async #services(host: string): Promise<Found> {
    const name = serviceName(host);
    const records = await answerOf(this.#resolver.resolveSrv(name), name);
    const lowest = Math.min(...records.map(({ priority }) => priority));
    const chosen = records.filter((record) => record.priority === lowest && record.name !== "" && record.name !== ".");
    const isWeighted = chosen.some(({ weight }) => weight > 0);
    // A target that is there twice has one query: two with different results would add up.
    const byTarget = new Map(chosen.map((record) => [`${record.name}:${record.port}`, record]));
    const all = await Promise.allSettled(
      [...byTarget.values()].map((one) => this.#endpoints(one.name, one.port, isWeighted ? one.weight : undefined)),
    );
    const failed = all.find((one) => one.status === "rejected");
    if (failed !== undefined && !all.some((one) => one.status === "fulfilled")) throw failed.reason;
    const targets = new Map<string, readonly Endpoint[]>();
    const problems: string[] = [];
    let ttlMs = UNKNOWN_TTL_MS;
    for (const [index, key] of [...byTarget.keys()].entries()) {
      const one = all[index] as (typeof all)[number];
      if (one.status === "fulfilled") {
        ttlMs = Math.min(ttlMs, one.value.ttlMs);
        targets.set(key, one.value.endpoints);
        continue;
      }
      problems.push(`the target ${key} of ${name} has no new addresses: ${RpcError.from(one.reason).rawMessage}`);
      targets.set(key, this.targets.get(key) ?? []);
    }
    return { endpoints: [...targets.values()].flat(), ttlMs, problems, targets };
  }

  async #addresses(host: string): Promise<Addresses> {
    if (isIP(host) !== 0) return { hosts: [host], ttlMs: MAX_TTL_MS };
    // Custom DNS servers replace the operating system's resolver, including /etc/hosts.
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
      return { hosts: interleave(records.map(({ address }) => address)), ttlMs };
    }
    for (const one of [v4, v6]) if (one.status === "rejected") throw one.reason;
    return mayBeSystem ? this.#systemAddresses(host) : NO_ADDRESSES;
  }

  /** Resolves a name with the operating system's resolver, and so with /etc/hosts, search domains and the like. */
  async #systemAddresses(host: string): Promise<Addresses> {
    const { family = 0 } = this.#options;
    const found = await answerOf(lookup(host, { all: true, family }), host);
    if (found.length > 0) this.#systemNames.add(host);
    else this.#systemNames.delete(host);
    return { hosts: interleave(found.map(({ address }) => address)), ttlMs: UNKNOWN_TTL_MS };
  }

  /** Returns the service config for this client; `undefined` if there is no record or the query fails. */
  async #serviceConfig(host: string): Promise<unknown> {
    const records = await this.#resolver.resolveTxt(`_grpc_config.${host}`).catch(() => []);
    return chooseServiceConfig(records, hostname(), random);
  }
}

/**
 * Alternates the families of addresses, beginning with IPv6 (RFC 8305, section 4): connections are attempted in this
 * order, so that no number of addresses of a family that does not work delays those of the other one.
 */
function interleave(hosts: readonly string[]): string[] {
  const [v4, v6] = [4, 6].map((family) => hosts.filter((host) => isIP(host) === family)) as [string[], string[]];
  return Array.from({ length: Math.max(v4.length, v6.length) }, (_, i) => [
    ...v6.slice(i, i + 1),
    ...v4.slice(i, i + 1),
  ]).flat();
}

const NO_ADDRESSES: Addresses = { hosts: [], ttlMs: UNKNOWN_TTL_MS };

/** Codes of c-ares and getaddrinfo for a name without records. All other codes are failures of the DNS. */
const NOT_FOUND_CODES: ReadonlySet<string | undefined> = new Set(["ENOTFOUND", "ENODATA"]);

async function answerOf<Record>(records: Promise<Record[]>, name: string): Promise<Record[]> {
  try {
    return await records;
  } catch (cause) {
    const { code } = cause as { readonly code?: string };
    if (NOT_FOUND_CODES.has(code)) return [];
    throw new RpcError(Code.Unavailable, `the DNS does not answer for ${name}: ${code ?? cause}`, { cause });
  }
}
