/**
 * Interface methods in the server half of sub-protocol A: decoding of the arguments of a body, and selection among the
 * methods of one path.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { Code, type Method, RpcError, Status } from "triple-es";
import {
  badRequest,
  type HttpRpcPayloadCall,
  type NamedResult,
  type Notation,
  type PayloadBody,
  type PayloadOptions,
} from "triple-es/internal";
import { type Fit, valuesOf } from "../arguments.ts";
import { Cost, isLimitError } from "../cost.ts";
import { signatureOf } from "../signature.ts";
import { type ArgumentBody, argumentsOf } from "./arguments.ts";
import { jsonResult, namedResult } from "./results.ts";

/** A method that a body may be for. */
interface Candidate {
  readonly one: Method;
  readonly readings: readonly JsonValue[][];
  /** The error of reading the arguments. */
  readonly problem?: unknown;
}

/** A method and the arguments that are valid for it. */
interface Fitting extends Fit {
  readonly one: Method;
}

/** One call of an interface method on a server. */
export class PositionalCall implements HttpRpcPayloadCall {
  readonly #methods: readonly Method[];
  readonly #maxMessageValues: number | undefined;
  method: Method;

  constructor(methods: readonly Method[], { maxMessageValues }: PayloadOptions = {}) {
    this.#methods = methods;
    this.#maxMessageValues = maxMessageValues;
    this.method = methods[0] as Method;
  }

  /** Decodes the arguments in a body. Throws for a body that is malformed or has no arguments of the method. */
  decode(body: PayloadBody): unknown[] {
    const methods = this.#methods;
    const parameterless = methods.find((one) => signatureOf(one).parameters.length === 0);
    if (body.bytes.byteLength === 0 || methods.length === 1) {
      // Java ignores the body of a call without parameters.
      if (parameterless !== undefined) return this.#choose(parameterless, []);
    }
    const cost = new Cost(this.#maxMessageValues);
    const given = argumentsOf(body.parse(), cost);
    const candidates = this.#candidates(given);
    const [first, ...others] = candidates;
    if (first !== undefined && others.length === 0) return this.#choose(first.one, fitOf(first, cost).values);
    const fitting: Fitting[] = [];
    for (const candidate of candidates) {
      try {
        fitting.push({ one: candidate.one, ...fitOf(candidate, cost) });
      } catch (cause) {
        // Otherwise another overload is meant.
        if (isLimitError(cause)) throw cause;
      }
    }
    return this.#select(given, fitting);
  }

  /** The methods that the body may be for, by the names or the number of its arguments. */
  #candidates(body: ArgumentBody): readonly Candidate[] {
    const all = this.#methods.map((one) => candidateOf(body, one, this.#methods.length > 1));
    // Names of arguments also tell overloads apart.
    const named = all.filter(({ one }) => body.namesAll?.(signatureOf(one)));
    if (named.length === 1) return named;
    return all.filter(({ readings, problem }) => readings.length !== 0 || isLimitError(problem));
  }

  #select(body: ArgumentBody, fitting: readonly Fitting[]): unknown[] {
    if (fitting.length === 0) throw this.#noSuchArguments(body);
    const plain = body.typed === true ? fitting.filter((fit) => fit.plain) : [];
    const [chosen, ...others] = plain.length > 0 ? plain : fitting;
    if (chosen === undefined || others.length > 0) {
      throw badRequest(`the arguments fit several overloads of ${this.method.path}`);
    }
    return this.#choose(chosen.one, chosen.values);
  }

  encode(message: object): Uint8Array {
    const [value] = message as readonly unknown[];
    return jsonResult(signatureOf(this.method).result, value, new Cost(this.#maxMessageValues));
  }

  resultOf(message: object, notation: Notation): NamedResult {
    const [value] = message as readonly unknown[];
    return namedResult(signatureOf(this.method).result, value, notation, new Cost(this.#maxMessageValues));
  }

  #choose(method: Method, values: unknown[]): unknown[] {
    this.method = method;
    return values;
  }

  #noSuchArguments(body: ArgumentBody): RpcError {
    if (this.#methods.length > 1) {
      const message = `${this.method.path} has no overload with these arguments`;
      return new RpcError(Code.Unimplemented, message, { status: Status.ServiceNotFound });
    }
    return badRequest(body.problemFor(signatureOf(this.method)));
  }
}

/** Reads a body for a method. With overloads an error may only mean that another method of the path is meant. */
function candidateOf(body: ArgumentBody, one: Method, hasOthers: boolean): Candidate {
  const signature = signatureOf(one);
  try {
    const readings = body.readingsFor(signature);
    if (readings.length > 0 || hasOthers || body.byPosition === undefined) return { one, readings };
    return { one, readings: body.byPosition(signature) };
  } catch (problem) {
    if (!hasOthers) throw problem;
    return { one, readings: [], problem };
  }
}

/** Converts the arguments of a candidate. Throws the error of reading them, if there was one. */
function fitOf({ one, readings, problem }: Candidate, cost: Cost): Fit {
  if (problem !== undefined) throw problem;
  return valuesOf(signatureOf(one), readings, cost);
}
