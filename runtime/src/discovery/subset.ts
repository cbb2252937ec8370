/**
 * Random subsetting by rendezvous hashing (gRFC A68): of a long list each client uses a few endpoints of its own, and a change of the list
 * changes few of them. Without it the connections are as many as clients times servers.
 */
import type { Endpoint } from "./endpoint.ts";
import { hashText } from "./hash.ts";

/** The endpoints with the highest hashes for the seed, in the order of the list. */
export function chooseSubset(endpoints: readonly Endpoint[], size: number, seed: number): readonly Endpoint[] {
  if (endpoints.length <= size) return endpoints;
  const hashes = Float64Array.from(endpoints, ({ address }) => hashText(address, seed));
  const least = hashes.slice().sort()[hashes.length - size] as number;
  const chosen = endpoints.filter((_, index) => (hashes[index] as number) >= least);
  return chosen.slice(0, size);
}
