/** Clients of interface methods: functions with positional arguments, whose messages are arrays of values. */
import {
  type CallDefaults,
  type CallOptions,
  createClient,
  type Method,
  type ServiceDef,
  type Transport,
} from "triple-es";
import { overloadPayload } from "./payload.ts";
import { toMessages, toValues } from "./positional.ts";
import { type InterfaceMethod, isInterfaceMethod } from "./signature.ts";

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
  const isStream = kind === "client_streaming" || kind === "bidi_streaming";
  const length = isStream ? 1 : signature.parameters.length;
  const call = (given: readonly unknown[]): unknown => {
    const values = Array.from({ length }, (_, index) => given[index]);
    const message = isStream ? toMessages(values[0] as AsyncIterable<unknown>) : values;
    return stub(message, given[length] as CallOptions | undefined);
  };
  if (kind === "server_streaming" || kind === "bidi_streaming") {
    return (...given) => toValues(call(given) as AsyncIterable<object>);
  }
  return async (...given) => ((await call(given)) as unknown[])[0];
}
