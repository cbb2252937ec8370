/**
 * Random subsetting by rendezvous hashing (gRFC A68): each client uses only a few endpoints of a long list, and a
 * change of the list replaces few of them. Without it the number of connections is the number of clients times the
 * number of servers.
 */
import type { Endpoint } from "./endpoint.ts";
import { hashText } from "./hash.ts";

/** Returns the endpoints with the highest hashes for the seed, in the order of the list. */
export function chooseSubset(endpoints: readonly Endpoint[], size: number, seed: number): readonly Endpoint[] {
  if (endpoints.length <= size) return endpoints;
  const hashes = Float64Array.from(endpoints, ({ address }) => hashText(address, seed));
  const least = hashes.slice().sort()[hashes.length - size] as number;
  const chosen = endpoints.filter((_, index) => (hashes[index] as number) >= least);
  return chosen.slice(0, size);
}
