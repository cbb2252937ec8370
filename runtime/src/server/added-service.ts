/**
 * The services of a router.
 */
import type { Selector, ServiceDef } from "../call/call.ts";

/** A service that has been added to a router, with its version and group. */
export interface AddedService {
  readonly service: ServiceDef<object, object>;
  readonly selector: Selector;
}
