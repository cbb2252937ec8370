/**
 * Consistent hashing (gRFC A42, ring hash): calls with the same key go to the same endpoint, and a change of the endpoints
 * moves only the keys of those that were added or removed.
 */
import type { HttpRequest } from "../../http/exchange.ts";
import type { Balancer, Random, ReadyEndpoint } from "../balancer.ts";
import { hashText, mix } from "../hash.ts";

/** Number of points on the ring: of an endpoint of mean weight, and of all endpoints together. */
const POINTS = 100;
const MAX_POINTS = 16_384;

export interface ConsistentHashOptions {
  /** The header whose value is the key of a call. */
  readonly header?: string | undefined;
  /** Returns the key of a call, in place of `header`. Calls without a key go to any endpoint. */
  readonly key?: ((request: HttpRequest) => string | undefined) | undefined;
  readonly random?: Random | undefined;
}

/** Makes the policy. Throws a `TypeError` unless it has either a header or a function for the key. */
export function consistentHash(options: ConsistentHashOptions): Balancer {
  const { header, key = header === undefined ? undefined : headerKey(header), random = Math.random } = options;
  if (key === undefined || (header !== undefined && options.key !== undefined)) {
    throw new TypeError("consistentHash needs either header or key");
  }
  const balancer: Balancer = (ready) => {
    const { places, owners } = makeRing(ready);
    return (request) => {
      const text = key(request);
      const place = text === undefined ? random() * 2 ** 32 : hashText(text);
      return ready[owners[findPlace(places, place)] as number] as ReadyEndpoint;
    };
  };
  return Object.assign(balancer, { policy: "ring_hash" });
}

function headerKey(header: string): (request: HttpRequest) => string | undefined {
  const name = header.toLowerCase();
  return ({ headers }) => headers.get(name);
}

/** The points of the ring in order, each with its place and the index of its owner. One number holds both, so that one sort orders them. */
function makeRing(ready: readonly ReadyEndpoint[]): { readonly places: Uint32Array; readonly owners: Uint32Array } {
  const total = ready.reduce((sum, { weight }) => sum + weight, 0);
  const perEndpoint = Math.max(1, Math.min(POINTS, MAX_POINTS / ready.length));
  const points: number[] = [];
  for (const [owner, { endpoint, weight }] of ready.entries()) {
    const count = Math.max(1, Math.round((perEndpoint * weight * ready.length) / total));
    const start = hashText(endpoint.address);
    for (let i = 0; i < count; i++) points.push(mix(start + Math.imul(i, 0x9e3779b1)) * 2 ** 20 + owner);
  }
  const sorted = Float64Array.from(points).sort();
  return {
    places: Uint32Array.from(sorted, (point) => Math.floor(point / 2 ** 20)),
    owners: Uint32Array.from(sorted, (point) => point % 2 ** 20),
  };
}

/** Returns the index of the first point at the place or after it, or 0 if there is none. */
function findPlace(places: Uint32Array, place: number): number {
  let low = 0;
  let high = places.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((places[middle] as number) < place) low = middle + 1;
    else high = middle;
  }
  return low === places.length ? 0 : low;
}
