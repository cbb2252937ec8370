/**
 * The imports of generated code. Generated code of users imports them from the entry point `triple-es`; the generated
 * services of the runtime import this module instead of their package's entry point.
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
export type { HandlerContext } from "./server/handler-context.ts";
