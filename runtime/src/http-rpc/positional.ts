/**
 * Methods without IDL in sub-protocol A: JSON arguments by position or by name, and which of several methods of one path
 * they are for.
 */
import type { Handler } from "../call.ts";
import { Code, Status } from "../code.ts";
import { decodeJsonText, encodeJson } from "../codec.ts";
import { RpcError } from "../error.ts";
import { argumentsIn, namesAll, valuesOf } from "../java/arguments.ts";
import { toJson } from "../java/json.ts";
import { parseExactJson } from "../java/json-text.ts";
import { within } from "../java/type.ts";
import type { Signature } from "../signature.ts";

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

  /** The arguments in a body. Throws for a body that is no JSON, or none of the method's. */
  decode(bytes: Uint8Array): unknown[] {
    const { overloads = [], method } = this.#handler;
    const handlers = [this.#handler, ...overloads];
    const parameterless = handlers.find((one) => signatureOf(one).parameters.length === 0);
    if (bytes.byteLength === 0 || handlers.length === 1) {
      // Java does not look at a body that it needs nothing of.
      if (parameterless !== undefined) return this.#choose(parameterless, []);
      if (bytes.byteLength === 0) throw new Error("it is empty; it must be a JSON array of the arguments");
    }
    const body = parseExactJson(decodeJsonText(bytes));
    const named = handlers.filter((one) => namesAll(signatureOf(one), body));
    const readings = new Map(handlers.map((one) => [one, argumentsIn(signatureOf(one), body)]));
    // The names of arguments tell overloads apart as well as their types do.
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
    const plain = fitting.filter((fit) => fit.plain);
    const [chosen, ...others] = plain.length > 0 ? plain : fitting;
    if (chosen === undefined || others.length > 0) throw new Error(`they fit several overloads of ${method.path}`);
    return this.#choose(chosen.one, chosen.values);
  }

  encode(message: object): Uint8Array {
    const { result } = signatureOf(this.#handler);
    const [value] = message as readonly unknown[];
    return encodeJson(result === "void" ? null : within("the result", () => toJson(result, value)));
  }

  #choose(handler: Handler, values: unknown[]): unknown[] {
    this.#handler = handler;
    return values;
  }

  #noSuchArguments(body: unknown): Error {
    const { method, overloads } = this.#handler;
    if (overloads !== undefined) {
      const message = `${method.path} has no overload with these arguments`;
      return new RpcError(Code.Unimplemented, message, { status: Status.ServiceNotFound });
    }
    const { parameters } = signatureOf(this.#handler);
    const given = Array.isArray(body) ? `${body.length} arguments` : "no array";
    return new Error(`it has ${given}; it must be a JSON array with ${parameters.length}`);
  }
}

/** A handler that is called this way has one. */
function signatureOf({ method }: Handler): Signature {
  return method.signature as Signature;
}
