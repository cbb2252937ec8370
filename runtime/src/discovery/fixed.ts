/**
 * The resolver of targets whose endpoints are known and do not change.
 */
import { type Endpoint, endpointProblem, type Resolver } from "./endpoint.ts";

/**
 * Makes the resolver of a list of endpoints or their addresses. Throws a `TypeError` for anything but a list, an empty list or an
 * invalid endpoint.
 */
export function fixed(given: readonly (Endpoint | string)[]): Resolver {
  if (!Array.isArray(given)) throw new TypeError('fixed needs a list of endpoints, such as ["localhost:50051"]');
  const endpoints = given.map((one): Endpoint => (typeof one === "string" ? { address: one } : one));
  if (endpoints.length === 0) throw new TypeError("fixed needs at least one endpoint");
  for (const endpoint of endpoints) {
    const problem = endpointProblem(endpoint);
    if (problem !== undefined) throw new TypeError(problem);
  }
  return async function* () {
    yield endpoints;
  };
}
