/**
 * A model of the DNS at the interface of `node:dns/promises`: A, AAAA, SRV and TXT records with a TTL, queries that fail, are
 * slow or are not answered, answers of a cache that is old, records that are there twice, and targets without addresses.
 */
import type { Endpoint, Resolver } from "triple-es/discovery";
import type { Product } from "./bundle.ts";
import type { EndpointSource } from "./endpoint-source.ts";
import type { World } from "./world.ts";

const DOMAIN = "sim.test";
/** Node gives up after two attempts of 2 s. */
const TIMEOUT_MS = 4_000;
const SLOW_MS = 3_000;
/** The longest time that a query takes: queries that have begun before the end of all faults are not healed. */
export const LONGEST_QUERY_MS: number = SLOW_MS + TIMEOUT_MS;
/** The longest time for which a cache returns the last answer, in milliseconds. */
const OLD_MS = 4_000;
const FAILURES = ["ESERVFAIL", "EREFUSED", "ETIMEOUT", "ECONNREFUSED"] as const;

export interface DnsPlan {
  readonly kind: "addresses" | "services";
  /** The TTL of A records, in seconds. */
  readonly ttl: number;
  /** True if each SRV record is there twice. */
  readonly isDouble: boolean;
  /** The shares of queries that fail and that are slow. */
  readonly failures: number;
  readonly slowness: number;
}

export class DnsModel {
  readonly #world: World;
  readonly #see: (what: string) => void;
  readonly #onFault: () => void;
  readonly #zones = new Map<string, Zone>();

  constructor(world: World, see: (what: string) => void, onFault: () => void) {
    this.#world = world;
    this.#see = see;
    this.#onFault = onFault;
  }

  /** Adds the zone of a client. */
  add(name: string, plan: DnsPlan, product: Product, list: readonly Endpoint[]): EndpointSource {
    const zone = new Zone(`${name}.${DOMAIN}`, plan, product, list, this.#world);
    this.#zones.set(name, zone);
    return zone;
  }

  /** The substitute of the module `node:dns/promises`. */
  module(): object {
    const query = (type: string, host: string): Promise<unknown[]> => this.#query(type, host);
    class Resolver {
      setServers(): void {}
      resolve4 = (host: string): Promise<unknown[]> => query("A", host);
      resolve6 = (host: string): Promise<unknown[]> => query("AAAA", host);
      resolveSrv = (host: string): Promise<unknown[]> => query("SRV", host);
      resolveTxt = (host: string): Promise<unknown[]> => query("TXT", host);
    }
    const lookup = (host: string): Promise<unknown[]> => query("A", host);
    return { Resolver, lookup };
  }

  async #query(type: string, host: string): Promise<unknown[]> {
    const [, name = ""] = /([^.]+)\.sim\.test$/.exec(host) ?? [];
    const zone = this.#zones.get(name);
    const random = this.#world.random(`dns/${name}`);
    const { failures, slowness } = zone?.isHealed === false ? zone.plan : { failures: 0, slowness: 0 };
    const isSlow = random.chance(slowness);
    await this.#world.sleep(isSlow ? random.log(20, SLOW_MS) : random.between(0.1, 3));
    const isFailing = zone?.isFailing === true && zone.isHealed === false;
    let code = isFailing || random.chance(failures) ? random.pick(FAILURES) : undefined;
    if (zone?.isDamaged && host.startsWith("server1.") && type === "A") code = "ESERVFAIL";
    if (code !== undefined) {
      this.#see(`DNS: ${code}`);
      this.#onFault();
      if (code === "ETIMEOUT") await this.#world.sleep(TIMEOUT_MS);
      throw problem(code, host);
    }
    const records = zone?.records(type, host) ?? [];
    if (records.length === 0) throw problem(random.pick(["ENOTFOUND", "ENODATA"]), host);
    this.#see(`DNS: ${type}${isSlow ? ", slow" : ""}`);
    return records;
  }
}

class Zone implements EndpointSource {
  readonly plan: DnsPlan;
  readonly resolver: Resolver;
  isFailing = false;
  isHealed = false;
  /** True while the target of the first server cannot be resolved. */
  isDamaged = false;
  readonly #name: string;
  readonly #world: World;
  #list: readonly Endpoint[];
  #last: readonly Endpoint[];
  #isOldUntil = 0;

  constructor(name: string, plan: DnsPlan, product: Product, list: readonly Endpoint[], world: World) {
    this.plan = plan;
    this.#name = name;
    this.#world = world;
    this.#list = list;
    this.#last = list;
    this.resolver = product.dns(plan.kind === "services" ? name : `${name}:${portOf(list[0])}`);
  }

  publish(list: readonly Endpoint[] | undefined): void {
    this.isFailing = list === undefined;
    if (list === undefined) return;
    this.#last = this.#list;
    this.#list = list;
    this.#isOldUntil =
      this.#world.now + (this.isHealed ? 0 : this.#world.random(`dns/${this.#name}`).between(0, OLD_MS));
  }

  heal(): void {
    this.isHealed = true;
    this.#isOldUntil = 0;
  }

  damage(isDamaged: boolean): void {
    this.isDamaged = isDamaged;
  }

  records(type: string, host: string): unknown[] {
    const list = this.#world.now < this.#isOldUntil ? this.#last : this.#list;
    if (type === "SRV") {
      const records = list.map((endpoint) => {
        const name = `server${numberOf(endpoint)}.${this.#name}`;
        return { name, port: portOf(endpoint), priority: 1, weight: 100 };
      });
      // Those of a lower priority are not used.
      const spare = { name: `server1.${this.#name}`, port: 1, priority: 2, weight: 0 };
      return records.length === 0 ? [] : [...records, ...(this.plan.isDouble ? records : []), spare];
    }
    if (type !== "A") return [];
    const [, number] = /^server(\d+)\./.exec(host) ?? [];
    return list
      .filter((endpoint) => number === undefined || numberOf(endpoint) === number)
      .map(({ address }) => ({ address: address.replace(/:\d+$/, ""), ttl: this.plan.ttl }));
  }
}

function numberOf({ address }: Endpoint): string {
  return /\.(\d+):/.exec(address)?.[1] ?? "";
}

function portOf(endpoint: Endpoint | undefined): number {
  return Number(endpoint?.address.split(":")[1]);
}

function problem(code: string, host: string): Error {
  return Object.assign(new Error(`query ${code} ${host}`), { code });
}
