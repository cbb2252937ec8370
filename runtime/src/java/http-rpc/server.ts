/**
 * Interface methods in the server half of sub-protocol A: decoding of the arguments of a body, and selection among the
 * methods of one path.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { Code, Status } from "../../call/code.ts";
import { RpcError } from "../../call/error.ts";
import type { HttpRpcPayloadCall, Method, PayloadBody } from "../../call/method.ts";
import { badRequest } from "../../http-rpc/headers.ts";
import { valuesOf } from "../arguments.ts";
import { signatureOf } from "../method.ts";
import { type ArgumentBody, argumentsOf } from "./arguments.ts";
import { RESULT_FORMATS } from "./results.ts";

/** One call of an interface method on a server. */
export class PositionalCall implements HttpRpcPayloadCall {
  readonly #methods: readonly Method[];
  #method: Method;

  constructor(methods: readonly Method[]) {
    this.#methods = methods;
    this.#method = methods[0] as Method;
  }

  get method(): Method {
    return this.#method;
  }

  /** Decodes the arguments in a body. Throws for a body that is malformed or has no arguments of the method. */
  decode(body: PayloadBody): unknown[] | Promise<unknown[]> {
    const methods = this.#methods;
    const parameterless = methods.find((one) => signatureOf(one).parameters.length === 0);
    if (body.bytes.byteLength === 0 || methods.length === 1) {
      // Java ignores the body of a call without parameters.
      if (parameterless !== undefined) return this.#choose(parameterless, []);
    }
    const content = body.parse();
    return content instanceof Promise
      ? content.then((one) => this.#read(argumentsOf(one)))
      : this.#read(argumentsOf(content));
  }

  #read(body: ArgumentBody): unknown[] {
    const methods = this.#methods;
    const readings = new Map(methods.map((one) => [one, readingsOf(body, one, methods.length > 1)]));
    // Names of arguments also tell overloads apart.
    const named = methods.filter((one) => body.namesAll?.(signatureOf(one)));
    const possible = named.length === 1 ? named : methods.filter((one) => readings.get(one)?.length !== 0);
    const [first = this.#method] = possible;
    if (possible.length === 0) throw this.#noSuchArguments(body);
    if (possible.length === 1)
      return this.#choose(first, valuesOf(signatureOf(first), readings.get(first) ?? []).values);
    const fitting = possible.flatMap((one) => {
      try {
        return [{ one, ...valuesOf(signatureOf(one), readings.get(one) ?? []) }];
      } catch {
        return [];
      }
    });
    if (fitting.length === 0) throw this.#noSuchArguments(body);
    const plain = body.typed === true ? fitting.filter((fit) => fit.plain) : [];
    const [chosen, ...others] = plain.length > 0 ? plain : fitting;
    if (chosen === undefined || others.length > 0) {
      throw badRequest(`the arguments fit several overloads of ${this.#method.path}`);
    }
    return this.#choose(chosen.one, chosen.values);
  }

  encode(message: object, format: keyof typeof RESULT_FORMATS): Uint8Array {
    const [value] = message as readonly unknown[];
    return RESULT_FORMATS[format](signatureOf(this.#method).result, value);
  }

  #choose(method: Method, values: unknown[]): unknown[] {
    this.#method = method;
    return values;
  }

  #noSuchArguments(body: ArgumentBody): RpcError {
    if (this.#methods.length > 1) {
      const message = `${this.#method.path} has no overload with these arguments`;
      return new RpcError(Code.Unimplemented, message, { status: Status.ServiceNotFound });
    }
    return badRequest(body.problemFor(signatureOf(this.#method)));
  }
}

/** The readings of a body for a method. With overloads an error only means that another method of the path is meant. */
function readingsOf(body: ArgumentBody, method: Method, hasOthers: boolean): readonly JsonValue[][] {
  try {
    const readings = body.readingsFor(signatureOf(method));
    return readings.length > 0 || hasOthers ? readings : (body.byPosition?.(signatureOf(method)) ?? []);
  } catch (reason) {
    if (!hasOthers) throw reason;
    return [];
  }
}
