/**
 * The module that generated code imports. Users' code imports it through the entry point `triple-es`; the generated
 * services of the runtime import it directly, because a package cannot import itself by name.
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
export * from "./codec/binary/generated.ts";
export type { HandlerContext } from "./server/handler.ts";
