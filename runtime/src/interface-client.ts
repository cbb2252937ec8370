/**
 * Clients of services without IDL: functions with arguments by position, whose messages are arrays of values.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Method, ServiceDef } from "./call.ts";
import { type CallDefaults, type CallOptions, createStub, type Transport } from "./client.ts";
import { plainMessage } from "./plain-json.ts";
import type { Signature } from "./signature.ts";

/** A method without IDL, as generated code declares it. */
export interface InterfaceMethod extends Method {
  readonly signature: Signature;
}

/** Stands for the schema of the messages of methods without IDL, which are arrays of values. */
export const javaMessage: DescMessage = /*@__PURE__*/ plainMessage("java.lang.Object");

type Stub = (message: unknown, options: CallOptions | undefined) => unknown;

/** Makes a client with a function for every method: the arguments by position, then the options of the call. */
export function createInterfaceClient<C extends object>(
  service: ServiceDef<C, object>,
  transport: Transport,
  defaults: CallDefaults = {},
): C {
  const selected = { ...service.selector, ...defaults };
  const client: Record<string, unknown> = Object.create(null);
  for (const [name, method] of Object.entries(service.methods)) {
    client[name] = createStub(method as Parameters<typeof createStub<Stub>>[0], transport, selected);
  }
  return client as C;
}
