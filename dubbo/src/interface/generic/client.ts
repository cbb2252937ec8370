/** The client of generic calls: it calls any method of any service, without a contract, as gateways and test tools do. */
import type { CallDefaults, CallOptions, Transport } from "triple-es";
import { createClient, createContextValues, Metadata } from "triple-es";
import { orInvalid } from "../type.ts";
import { fromGenericException, GENERIC, type GenericMode, invokeOf } from "./method.ts";
import { toGeneric } from "./values.ts";

/** Options of a generic call. */
export interface GenericCallOptions extends CallOptions {
  /**
   * Names of the parameter types in Java, such as `int`, `java.util.List`, `com.acme.Item` and `[I`. Default: none, which
   * servers accept for a method without overloads.
   */
  readonly types?: readonly string[] | undefined;
  /**
   * The form of arguments and result. `true`: values. `protobuf-json`: for a method of a proto file, the only argument and the
   * result are messages as JSON text. Default: `true`.
   */
  readonly mode?: GenericMode | undefined;
}

/** A client of generic calls. */
export interface GenericClient {
  /**
   * Calls a method by the full name of its service and its own name. Arguments are values like those of a `java.lang.Object`:
   * `typed` gives one another type, and an object of a class is an object or `Map` with the name of the class in `class`. In
   * results, objects are such maps. Rejects with a `JavaException` if the service threw one, otherwise with an `RpcError`.
   */
  readonly call: (
    service: string,
    method: string,
    args: readonly unknown[],
    options?: GenericCallOptions,
  ) => Promise<unknown>;
}

interface Invoke {
  invoke(message: readonly unknown[], options: CallOptions): Promise<readonly [unknown]>;
}

/** The key of the called method, by which traffic rules and their settings apply: they read it under the same key. */
const CALLED = Symbol.for("triple-es.called");

/** Creates a client of generic calls. Its transport needs the serialization Hessian 2. `defaults` apply to every call. */
export function createGenericClient(transport: Transport, defaults: CallDefaults = {}): GenericClient {
  return {
    async call(service, method, args, { types = null, mode = "true", ...options } = {}) {
      if (!Array.isArray(args)) throw new TypeError(`the arguments of ${method} must be an array, such as [1, "a"]`);
      const headers = new Metadata(defaults.headers).set(GENERIC, mode);
      const definition = { typeName: service, methods: { invoke: { ...invokeOf(service), name: method } } };
      const client = createClient<Invoke>(definition, transport, { ...defaults, headers });
      try {
        const given = orInvalid(`the arguments of ${method} are invalid`, () =>
          args.map((value) => toGeneric("java.lang.Object", value)),
        );
        const values = options.values ?? createContextValues();
        const get: typeof values.get = (key) => (key.id === CALLED ? method : values.get(key)) as never;
        return (await client.invoke([method, types, given], { ...options, values: { ...values, get } }))[0];
      } catch (error) {
        throw fromGenericException(error);
      }
    },
  };
}
