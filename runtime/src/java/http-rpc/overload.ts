/**
 * Methods without IDL in sub-protocol A: the arguments of a body, and which of several methods of one path they are for.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import type { Handler } from "../../call/call.ts";
import { Code, Status } from "../../call/code.ts";
import { RpcError } from "../../call/error.ts";
import type { RequestFormat, ResponseFormat } from "../../http-rpc/content-type.ts";
import { badRequest } from "../../http-rpc/headers.ts";
import { valuesOf } from "../arguments.ts";
import type { Signature } from "../signature.ts";
import type { ArgumentBody } from "./arguments.ts";
import type { ResultFormat } from "./results.ts";

/** One call of such a method on a server. */
export class PositionalCall {
  #handler: Handler;

  constructor(handler: Handler) {
    this.#handler = handler;
  }

  /** The method that is called. Of several of a path it is known when the request has been decoded. */
  get handler(): Handler {
    return this.#handler;
  }

  /** The arguments in a body. Throws for a body that is malformed, or holds none of the method's. */
  decode(bytes: Uint8Array, { decodeArguments }: RequestFormat): unknown[] | Promise<unknown[]> {
    const { overloads = [] } = this.#handler;
    const handlers = [this.#handler, ...overloads];
    const parameterless = handlers.find((one) => signatureOf(one).parameters.length === 0);
    if (bytes.byteLength === 0 || handlers.length === 1) {
      // Java does not look at a body that it needs nothing of.
      if (parameterless !== undefined) return this.#choose(parameterless, []);
    }
    const body = (decodeArguments as NonNullable<typeof decodeArguments>)(bytes);
    return body instanceof Promise ? body.then((one) => this.#read(one, handlers)) : this.#read(body, handlers);
  }

  #read(body: ArgumentBody, handlers: readonly Handler[]): unknown[] {
    const readings = new Map(handlers.map((one) => [one, readingsOf(body, one, handlers.length > 1)]));
    // The names of arguments tell overloads apart as well as their types do.
    const named = handlers.filter((one) => body.namesAll?.(signatureOf(one)));
    const possible = named.length === 1 ? named : handlers.filter((one) => readings.get(one)?.length !== 0);
    const [first = this.#handler] = possible;
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
      throw badRequest(`the arguments fit several overloads of ${this.#handler.method.path}`);
    }
    return this.#choose(chosen.one, chosen.values);
  }

  encode(message: object, { encodeResult }: ResponseFormat): Uint8Array {
    const [value] = message as readonly unknown[];
    return (encodeResult as ResultFormat)(signatureOf(this.#handler).result, value);
  }

  #choose(handler: Handler, values: unknown[]): unknown[] {
    this.#handler = handler;
    return values;
  }

  #noSuchArguments(body: ArgumentBody): RpcError {
    const { method, overloads } = this.#handler;
    if (overloads !== undefined) {
      const message = `${method.path} has no overload with these arguments`;
      return new RpcError(Code.Unimplemented, message, { status: Status.ServiceNotFound });
    }
    return badRequest(body.problemFor(signatureOf(this.#handler)));
  }
}

/** What a method can make of a body. What it finds wrong with it says only that another method of the path is meant. */
function readingsOf(body: ArgumentBody, handler: Handler, hasOthers: boolean): readonly JsonValue[][] {
  try {
    const readings = body.readingsFor(signatureOf(handler));
    return readings.length > 0 || hasOthers ? readings : (body.byPosition?.(signatureOf(handler)) ?? []);
  } catch (reason) {
    if (!hasOthers) throw reason;
    return [];
  }
}

/** A handler that is called this way has one. */
function signatureOf({ method }: Handler): Signature {
  return method.signature as Signature;
}
