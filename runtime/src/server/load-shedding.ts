/**
 * Load shedding: a server that gets more calls than it can answer refuses some of them early, so that it answers the others
 * within their deadlines. Without it, all calls begin, and all end too late.
 *
 * - Calls that arrive in one turn of the event loop begin in several turns if their handlers take CPU time. A call that has
 *   waited too long for its turn is refused.
 * - Calls of a method that wait for something else, such as a database, are limited in number if they take most of their
 *   deadlines (Little's law).
 */
import { RETRY_PUSHBACK } from "../call/attempt.ts";
import type { Authorize, Method } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { type AnsweredContext, isAnswered } from "../call/outcome.ts";
import { defer, now } from "../call/platform.ts";

/** The time in milliseconds for which the calls of one turn of the event loop may run. */
const LONG_TURN_MS = 16;

/**
 * The number of calls that begin in a turn before any turn has been measured. While turns allow so many, one call of as many is
 * measured, with the rest of its turn, or of those that fit into a long turn, if they are fewer: clocks and callbacks at the end
 * of a turn are a large part of the cost of a call. Measured less often, a queue that takes no CPU time is seen too late.
 */
const FIRST_CALLS = 32;

/** The share of its timeout for which a call may wait, and which calls of a limited method should take. */
const SHARE = 1 / 4;

/** The share while calls have been waiting for {@link STANDING_MS} milliseconds or longer: such a queue does not end (CoDel). */
const STANDING_SHARE = 1 / 10;
const STANDING_MS = 100;

/** The ratio to the usual time that calls of a limited method take if this is longer than {@link SHARE}. */
const NEARLY_USUAL = 5 / 4;

/** The timeout that calls without one have here, in milliseconds. */
const NO_TIMEOUT_MS = 10_000;

/** So few calls of a method are no overload: their time is the usual one, and no method is limited to fewer. */
const FEW_CALLS = 8;

/** The delay in milliseconds before a refused call may be attempted again. */
const PUSHBACK_MS = 100;

/** Services whose calls report the state of the server. */
const EXEMPT = /^grpc\.(channelz|health|reflection)\./;

/** The calls of a method. */
interface MethodLoad {
  running: number;
  /** The maximum number of running calls. */
  limit: number;
  /** The time of a call while few run, in milliseconds. */
  usualMs: number;
}

interface WaitingCall {
  readonly since: number;
  readonly timeoutMs: number;
  readonly begin: () => void;
  readonly refuse: (reason: RpcError) => void;
}

/**
 * Creates the function that returns a method's hook, which decides whether and when a call begins. Streams, health, reflection and
 * channelz have none: their calls always begin, and so do those for which `mayRefuse` returns false.
 */
export function createLoadShedding(
  mayRefuse: true | ((call: Parameters<Authorize>[0]) => boolean) = true,
): (method: Method) => Authorize | undefined {
  let waiting: WaitingCall[] = [];
  let callsPerTurn = FIRST_CALLS;
  /** The number of calls that may begin in this turn; if it is not watched, before a call is measured. */
  let left = 0;
  let turnStart = 0;
  let isWatched = false;
  /** The time since which calls have been waiting. */
  let waitingSince = 0;
  // One error for all calls: the stack of each would cost more than the rest of its refusal.
  const overloaded = new RpcError(Code.Unavailable, "the server is overloaded (its option shedLoad refuses calls)", {
    trailers: { [RETRY_PUSHBACK]: String(PUSHBACK_MS) },
  });

  /** Ends the turn after the input that is ready. */
  function watch(time: number): void {
    if (isWatched) return;
    isWatched = true;
    turnStart = time;
    left = callsPerTurn;
    defer(endTurn);
  }

  function endTurn(): void {
    isWatched = false;
    const time = now();
    const took = time - turnStart;
    const begun = callsPerTurn - left;
    if (took > LONG_TURN_MS) callsPerTurn = Math.max(1, Math.floor((begun * LONG_TURN_MS) / took));
    else if (took * callsPerTurn < (begun * LONG_TURN_MS) / 2 && (left === 0 || callsPerTurn < FIRST_CALLS))
      callsPerTurn *= 2;
    left = callsPerTurn < FIRST_CALLS ? 0 : Math.floor(Math.min((begun * LONG_TURN_MS) / took, FIRST_CALLS)) - 1;
    const share = time - waitingSince > STANDING_MS ? STANDING_SHARE : SHARE;
    waiting = waiting.filter(({ since, timeoutMs, begin, refuse }) => {
      const isLate = time - since > share * timeoutMs;
      if (!isLate && isWatched && left === 0) return true;
      if (isLate) refuse(overloaded);
      else begin();
      return false;
    });
    if (waiting.length > 0) watch(now());
  }

  /** Counts a call that begins. Throws if too many of its method are running. */
  function begin(load: MethodLoad, context: AnsweredContext, timeoutMs: number | undefined): void {
    if (load.running >= load.limit) throw overloaded;
    const start = now();
    watch(start);
    left--;
    const width = ++load.running;
    context.onAnswered((error) => {
      load.running--;
      // A call that was refused or cancelled tells nothing about its handler.
      if (error !== undefined && error.code !== Code.DeadlineExceeded) return;
      adapt(load, now() - start, timeoutMs ?? NO_TIMEOUT_MS, width, error === undefined);
    });
  }

  /** Begins a call now or later, and measures it. */
  function measure(load: MethodLoad, context: AnsweredContext): ReturnType<Authorize> {
    const timeoutMs = context.timeoutMs();
    if (left > 0 || !isWatched) return begin(load, context, timeoutMs);
    const since = now();
    watch(since);
    if (waiting.length === 0) waitingSince = since;
    return new Promise<void>((resolve, refuse) => {
      waiting.push({
        since,
        timeoutMs: timeoutMs ?? NO_TIMEOUT_MS,
        refuse,
        begin() {
          try {
            begin(load, context, timeoutMs);
            resolve();
          } catch (reason) {
            refuse(reason as RpcError);
          }
        },
      });
    });
  }

  return ({ kind, service }) => {
    if (kind !== "unary" || EXEMPT.test(service)) return undefined;
    const load: MethodLoad = { running: 0, limit: Number.POSITIVE_INFINITY, usualMs: 0 };
    const onAnswered = (): void => {
      load.running--;
    };
    return (call) => {
      const { context } = call;
      if (!isAnswered(context) || !(mayRefuse === true || mayRefuse(call))) return;
      if (left === 0 || load.usualMs === 0 || load.running >= load.limit - 2) return measure(load, context);
      left--;
      load.running++;
      return context.onAnswered(onAnswered);
    };
  };
}

/** Adapts the limit of a method to a call that took `tookMs` and was one of `width` running calls when it began. */
function adapt(load: MethodLoad, tookMs: number, timeoutMs: number, width: number, isWhole: boolean): void {
  if (width <= FEW_CALLS && isWhole) load.usualMs += (tookMs - load.usualMs) / (load.usualMs === 0 ? 1 : 16);
  const isLate = width > FEW_CALLS && tookMs > timeoutMs / 2 && tookMs > 2 * load.usualMs;
  if (!isLate && width < load.limit - 1) return;
  const wantedMs = Math.max(SHARE * timeoutMs, NEARLY_USUAL * load.usualMs);
  const wanted = (width * wantedMs) / Math.max(tookMs, 1);
  // A quick call, such as one that a cache has answered, raises the limit by a little only.
  const next = load.limit === Number.POSITIVE_INFINITY ? wanted : load.limit + Math.min((wanted - load.limit) / 8, 1);
  load.limit = Math.max(FEW_CALLS, next);
}
