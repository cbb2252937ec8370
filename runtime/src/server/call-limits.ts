/** Limits of the calls of one service or method: size of messages, time, and number. */
import type { Call } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { watchEnd } from "../call/message-stream.ts";
import { assertMembers, resolveLimitGroup } from "../call/option.ts";

/** Limits of the calls of a service or a method. */
export interface CallLimits {
  /** Maximum size of a received message, in bytes, before and after decompression. Default: that of the router. */
  readonly maxMessageBytes?: number | undefined;
  /** Maximum number of values of a received message. Default: that of the router. */
  readonly maxMessageValues?: number | undefined;
  /**
   * Maximum timeout of a call, in milliseconds: a longer timeout of a client is reduced to it, and calls without a timeout
   * get it. A call that takes longer fails with `deadline_exceeded`. `Infinity`: no maximum. Default: that of the router.
   */
  readonly maxTimeoutMs?: number | undefined;
  /**
   * Maximum number of calls that run at a time: of all methods together as a limit of a service, of one method as a limit of
   * a method. Streams run until their end, and cancelled handlers until they return. Further calls fail with
   * `resource_exhausted`. Not for Cloudflare Workers: they drop a call that its client leaves, which then counts for ever.
   * Default: none.
   */
  readonly maxConcurrent?: number | undefined;
}

/** Limits of a service, and of its methods by their TypeScript names. */
export interface ServiceLimits extends CallLimits {
  /** Limits of single methods, which replace those of the service; `maxConcurrent` applies in addition. Default: none. */
  readonly methods?: { readonly [method: string]: CallLimits } | undefined;
}

/** The largest size of a message, and the longest timer of the platform. */
const MAX = 2 ** 31 - 1;
const MAXIMA = { maxMessageBytes: MAX, maxMessageValues: MAX, maxTimeoutMs: MAX, maxConcurrent: MAX };
const NAMES = Object.keys(MAXIMA);

/** Throws a `TypeError` for an unknown limit or method, and a `RangeError` for a value out of range. */
export function checkServiceLimits(limits: ServiceLimits, methods: readonly string[]): void {
  assertMembers("limits", limits, [...NAMES, "methods"]);
  const { methods: byMethod = {}, ...all } = limits;
  check("limits", all);
  assertMembers("limits.methods", byMethod, methods);
  for (const [name, own] of Object.entries(byMethod)) check(`limits.methods.${name}`, own);
}

function check(option: string, limits: CallLimits): void {
  assertMembers(option, limits, NAMES);
  checkMaxTimeout(limits.maxTimeoutMs, `${option}.maxTimeoutMs`);
  resolveLimitGroup(option, MAXIMA, { ...limits, maxTimeoutMs: undefined }, MAXIMA);
}

/** Returns a maximum timeout. Throws a `RangeError` if it is out of range. */
export function checkMaxTimeout(value: number = Number.POSITIVE_INFINITY, option: string): number {
  if (value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && value > 0 && value <= MAX)) return value;
  throw new RangeError(`${option} must be an integer of milliseconds between 1 and ${MAX} or Infinity, not ${value}`);
}

/**
 * Returns the function that limits the number of running calls. All calls that it wraps are counted together. `name` is the service
 * or method in the message of refused calls.
 */
export function limitConcurrency({ maxConcurrent: max }: CallLimits, name: string): (call: Call) => Call {
  if (max === undefined) return (call) => call;
  let running = 0;
  return (call) => async (request) => {
    if (running >= max) {
      const problem = `${name} runs ${max} calls already (limit maxConcurrent of the server)`;
      throw new RpcError(Code.ResourceExhausted, problem);
    }
    running++;
    let isStream = false;
    try {
      const response = await call(request);
      if (!response?.stream) return response;
      isStream = true;
      // If the reader has left, the handler runs until it has returned.
      const messages = watchEnd(response.messages, (_how, _why, settled) => void settled.then(() => running--));
      return { ...response, messages };
    } finally {
      if (!isStream) running--;
    }
  };
}
