/**
 * Consistent hashing (gRFC A42, ring hash): calls with the same key go to the same endpoint, and a change of the endpoints
 * moves only the keys of those that were added or removed.
 */
import { random } from "../../call/platform.ts";
import type { HttpRequest } from "../../http/exchange.ts";
import type { Balancer, ReadyEndpoint } from "../balancer.ts";
import { hashText, mix } from "../hash.ts";

/** Number of points on the ring: of an endpoint of mean weight, and of all endpoints together. */
const POINTS = 100;
const MAX_POINTS = 16_384;

/**
 * Makes the policy. The key of a call is the value of a header, or what the function returns. Calls without a key go to any
 * endpoint. Throws a `TypeError` for anything but a name or a function.
 */
export function consistentHash(key: string | ((request: HttpRequest) => string | undefined)): Balancer {
  const keyOf = typeof key === "function" ? key : headerKey(key);
  const balancer: Balancer = (ready) => {
    const ring = makeRing(ready);
    return (request) => {
      const text = keyOf(request);
      const place = text === undefined ? random() * 2 ** 32 : hashText(text);
      return ready[findOwner(ring, place)] as ReadyEndpoint;
    };
  };
  // In a service config, the key is a header. Without the name, the function of the user runs in the context of its call.
  return typeof key === "function" ? balancer : Object.assign(balancer, { policy: "ring_hash" });
}

function headerKey(header: string): (request: HttpRequest) => string | undefined {
  if (typeof header !== "string" || header === "") {
    throw new TypeError(`consistentHash needs the name of a header, or a function, not ${JSON.stringify(header)}`);
  }
  const name = header.toLowerCase();
  return ({ headers }) => headers.get(name);
}

/** The points of the ring in order. */
interface Ring {
  /** The place of each point, from 0 to 2 ** 32 - 1. */
  readonly places: Uint32Array;
  /** The index of the endpoint of each point. */
  readonly owners: Uint32Array;
  /**
   * The first point of each section of the ring or of a later one. There are about as many sections of equal size as
   * points.
   */
  readonly sections: Uint32Array;
  /** The number of bits of a place within its section. */
  readonly sectionBits: number;
}

/** Makes the ring. While its points are sorted, one number holds the place of a point and its owner. */
function makeRing(ready: readonly ReadyEndpoint[]): Ring {
  const total = ready.reduce((sum, { weight }) => sum + weight, 0);
  const perEndpoint = Math.max(1, Math.min(POINTS, MAX_POINTS / ready.length));
  const points: number[] = [];
  for (const [owner, { endpoint, weight }] of ready.entries()) {
    const count = Math.max(1, Math.round((perEndpoint * weight * ready.length) / total));
    const start = hashText(endpoint.address);
    for (let i = 0; i < count; i++) points.push(mix(start + Math.imul(i, 0x9e3779b1)) * 2 ** 20 + owner);
  }
  const sorted = Float64Array.from(points).sort();
  const places = Uint32Array.from(sorted, (point) => Math.floor(point / 2 ** 20));
  const sectionBits = Math.clz32(places.length);
  const sections = new Uint32Array(2 ** (32 - sectionBits));
  let point = 0;
  for (let section = 0; section < sections.length; section++) {
    while (point < places.length && (places[point] as number) >>> sectionBits < section) point++;
    sections[section] = point;
  }
  return { places, owners: Uint32Array.from(sorted, (one) => one % 2 ** 20), sections, sectionBits };
}

/**
 * Returns the owner of the first point at the place or after it, or of the first of all if there is none. A search in all
 * points would cost more than the rest of a pick, because its branches cannot be predicted.
 */
function findOwner({ places, owners, sections, sectionBits }: Ring, place: number): number {
  let point = sections[place >>> sectionBits] as number;
  while (point < places.length && (places[point] as number) < place) point++;
  return owners[point === places.length ? 0 : point] as number;
}
