/**
 * Clients of interface methods: functions with positional arguments, whose messages are arrays of values.
 */
import type { Method, ServiceDef } from "triple-es";
import { type CallDefaults, type CallOptions, createClient, type Transport } from "triple-es";
import { type InterfaceMethod, isInterfaceMethod } from "./method.ts";
import { overloadPayload } from "./payload.ts";
import { toMessages, toValues } from "./positional.ts";

/**
 * Creates a client with a function for every method. Its parameters are the arguments by position, then the options of the
 * call.
 */
export function createInterfaceClient<C extends object>(
  service: ServiceDef<C, object>,
  transport: Transport,
  defaults: CallDefaults = {},
): C {
  const methods = Object.fromEntries(
    Object.entries(service.methods).map(([name, method]) => [name, nameOverload(method, service)]),
  );
  const stubs = createClient<object>({ ...service, methods }, transport, defaults) as Record<string, Stub>;
  const client: Record<string, unknown> = Object.create(null);
  for (const [name, method] of Object.entries(service.methods)) {
    if (!isInterfaceMethod(method)) throw new TypeError(`${method.path} has no signature; use createClient`);
    client[name] = positional(method, stubs[name] as Stub);
  }
  return client as C;
}

function nameOverload(method: Method, { methods }: ServiceDef<object, object>): Method {
  const isAlone = Object.values(methods).filter(({ path }) => path === method.path).length === 1;
  return isAlone || !isInterfaceMethod(method) ? method : { ...method, payload: overloadPayload };
}

type Stub = (message: unknown, options: CallOptions | undefined) => unknown;

function positional({ kind, signature }: InterfaceMethod, stub: Stub): (...given: unknown[]) => unknown {
  const length = signature.parameters.length;
  const optionsOf = (given: readonly unknown[]): CallOptions | undefined => given[length] as CallOptions | undefined;
  const argumentsOf = (given: readonly unknown[]): unknown[] => Array.from({ length }, (_, index) => given[index]);
  switch (kind) {
    case "unary":
      return async (...given) => {
        const [value] = (await stub(argumentsOf(given), optionsOf(given))) as unknown[];
        return value;
      };
    case "server_streaming":
      return (...given) => toValues(stub(argumentsOf(given), optionsOf(given)) as AsyncIterable<object>);
    case "client_streaming":
      return async (values, options) => {
        const [value] = (await stub(toMessages(values as AsyncIterable<unknown>), options as CallOptions)) as unknown[];
        return value;
      };
    case "bidi_streaming":
      return (values, options) =>
        toValues(stub(toMessages(values as AsyncIterable<unknown>), options as CallOptions) as AsyncIterable<object>);
  }
}
