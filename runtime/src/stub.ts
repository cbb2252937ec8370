/**
 * What generated code imports. Users' stubs find it behind the door `triple-es`; those of the runtime's own services
 * import this room, because a package cannot import itself by name.
 */
export type { ServiceDef } from "./call/call.ts";
export {
  type BidiStreamingMethod,
  type CallDefaults,
  type CallOptions,
  createClient,
  type ServerStreamingMethod,
  type Transport,
  type UnaryMethod,
} from "./client/client.ts";
export type { HandlerContext } from "./server/handler.ts";
