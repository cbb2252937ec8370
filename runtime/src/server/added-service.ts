/**
 * The services of a router.
 */
import type { Selector, ServiceDef } from "../call/call.ts";

/** A service that has been added to a router, with its version and group. */
export interface AddedService {
  /** The definition of the service. */
  readonly service: ServiceDef<object, object>;
  /** The version and group by which it is served. */
  readonly selector: Selector;
}
