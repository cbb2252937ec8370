/**
 * Load shedding: a server that gets more calls than it can answer refuses some early, to answer the others within their deadlines.
 *
 * - Calls that arrive in one turn of the event loop begin in several turns if their handlers take CPU time. A call that has
 *   waited too long for its turn is refused.
 * - Calls of a method that wait for something else, such as a database, are limited in number if they take most of their
 *   deadlines (Little's law).
 *
 * Calls are counted, and one of many is measured, which is enough to see both: its time, and that of the turn in which it begins.
 * After a turn that was not long, a server rests for the time of a long one: calls of methods that have answered all of theirs
 * begin unseen, because that costs nothing.
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
 * The number of calls that begin in a turn before any is measured. Later one of as many is, with the rest of its turn, or of those
 * that fit into a long turn. With fewer, a queue that takes no CPU time is seen too late.
 */
const FIRST_CALLS = 32;

/** The share of its timeout for which a call may wait, and which calls of a limited method should take. */
const SHARE = 1 / 4;

/** The ratio to the usual time that calls of a limited method take if this is longer than {@link SHARE}. */
const NEARLY_USUAL = 5 / 4;

/** The timeout that calls without one have here, in milliseconds. */
const NO_TIMEOUT_MS = 10_000;

/** So few calls of a method are no overload: their time is the usual one, and no method is limited to fewer. */
const FEW_CALLS = 8;

/** Services whose calls report the state of the server. */
const EXEMPT = /^grpc\.(channelz|health|reflection)\./;

/** The calls of a method. `limit` is the maximum of `running`. */
interface MethodLoad {
  running: number;
  limit: number;
  /** The time of a call while few run, in milliseconds. */
  usualMs: number;
  /** Called when a call that began has been answered. */
  readonly onAnswered: () => void;
}

/**
 * Creates the load shedding of a server. Streams, health, reflection and channelz have none: their calls always begin, and so do
 * those for which `mayRefuse` returns false.
 */
export function createLoadShedding(
  mayRefuse: true | ((call: Parameters<Authorize>[0]) => boolean) = true,
): (method: Method) => { readonly authorize: Authorize; readonly passes: () => boolean } | undefined {
  let waiting: { since: number; timeoutMs: number; settle: (isLate: boolean) => void }[] = [];
  let callsPerTurn = FIRST_CALLS;
  /** The number of calls that may begin in this turn; if it is not watched, before a call is measured. */
  let left = 0;
  let turnStart: number | undefined;
  /** The end of the last rest, and the number of calls that begin unseen before the clock is read again, which ends it in a turn too. */
  let restEnd = 0;
  let unseen = 0;
  // One error for all calls: the stack of each would cost more than the rest of its refusal.
  const overloaded = new RpcError(Code.Unavailable, "the server is overloaded (its option shedLoad refuses calls)", {
    trailers: { [RETRY_PUSHBACK]: "100" },
  });

  /** Reports whether the server rests, and counts a call that begins unseen then. */
  function isResting(): boolean {
    if (unseen === 0 && now() >= restEnd) return false;
    unseen = (unseen || FIRST_CALLS) - 1;
    return true;
  }

  /** Ends a turn that a call has begun, after the input that is ready. */
  function endTurn(): void {
    const time = now();
    const took = time - (turnStart ?? time);
    turnStart = undefined;
    const isCalm = left > 0 && callsPerTurn >= FIRST_CALLS && took <= LONG_TURN_MS && waiting.length === 0;
    if (isCalm) restEnd = time + LONG_TURN_MS;
    const fitting = Math.floor(((callsPerTurn - left) * LONG_TURN_MS) / took);
    if (took > LONG_TURN_MS) callsPerTurn = Math.max(1, fitting);
    else if (callsPerTurn < fitting / 2 && (left === 0 || callsPerTurn < FIRST_CALLS)) callsPerTurn *= 2;
    left = callsPerTurn < FIRST_CALLS ? 0 : Math.min(fitting, FIRST_CALLS) - 1;
    // The newest ones begin first (LIFO): those that may wait for long would make all others late.
    waiting = waiting
      .reverse()
      .filter(({ since, timeoutMs, settle }) => {
        const isLate = time - since > SHARE * timeoutMs;
        if (!isLate && turnStart !== undefined && left === 0) return true;
        settle(isLate);
        return false;
      })
      .reverse();
  }

  /** Measures a call that begins. Returns false if too many of its method are running. */
  function begin(load: MethodLoad, context: AnsweredContext, timeoutMs: number): boolean {
    if (load.running >= load.limit) return false;
    const start = now();
    if (turnStart === undefined) {
      turnStart = start;
      left = callsPerTurn;
      defer(endTurn);
    }
    left--;
    const width = ++load.running;
    context.onAnswered((error) => {
      // A call that was refused or cancelled tells nothing about its handler.
      if (error === undefined || error.code === Code.DeadlineExceeded) {
        adapt(load, now() - start, timeoutMs, width, error === undefined);
      }
      load.onAnswered();
    });
    return true;
  }

  /** Begins a call now or later, and measures it. */
  function measure(load: MethodLoad, context: AnsweredContext): ReturnType<Authorize> {
    const timeoutMs = context.timeoutMs() ?? NO_TIMEOUT_MS;
    const isItsTurn = left > 0 || turnStart === undefined;
    if (isItsTurn && begin(load, context, timeoutMs)) return;
    if (isItsTurn) throw overloaded;
    const since = now();
    return new Promise<void>((resolve, reject) => {
      const settle = (isLate: boolean): void =>
        isLate || !begin(load, context, timeoutMs) ? reject(overloaded) : resolve();
      waiting.push({ since, timeoutMs, settle });
    });
  }

  return ({ kind, service }) => {
    if (kind !== "unary" || EXEMPT.test(service)) return undefined;
    const onAnswered = (): void => {
      // A method without calls is not overloaded.
      if (--load.running === 0) load.limit *= 2;
    };
    const load: MethodLoad = { running: 0, limit: Number.POSITIVE_INFINITY, usualMs: 0, onAnswered };
    const admit = (context: AnsweredContext): ReturnType<Authorize> => {
      if (left === 0 || load.usualMs === 0 || load.running >= load.limit - 2) return measure(load, context);
      left--;
      load.running++;
      context.onAnswered(onAnswered);
    };
    const authorize: Authorize = (call) => {
      const { context } = call;
      if (!isAnswered(context) || !(mayRefuse === true || mayRefuse(call))) return;
      if (!context.isArriving) return admit(context);
      // A slow upload is no load, and must not take the place of calls that are.
      context.onArrived = () => admit(context);
    };
    const isFree = (): boolean => load.running === 0 && load.limit === Number.POSITIVE_INFINITY;
    return { authorize, passes: () => isFree() && isResting() };
  };
}

/** Adapts the limit of a method to a call that took `tookMs` and was one of `width` running calls when it began. */
function adapt(load: MethodLoad, tookMs: number, timeoutMs: number, width: number, isWhole: boolean): void {
  // The time of a call beside many others is only an upper bound of the usual one.
  const boundMs = width <= FEW_CALLS ? tookMs : Math.min(tookMs, load.usualMs);
  if (isWhole) load.usualMs += (boundMs - load.usualMs) / (load.usualMs === 0 ? 1 : 16);
  const isLate = width > FEW_CALLS && tookMs > timeoutMs / 2 && tookMs > 2 * load.usualMs;
  // Timeouts shorter than a turn pass in a server that is not overloaded.
  if (timeoutMs < LONG_TURN_MS || (!isLate && width < load.limit - 1)) return;
  const wantedMs = Math.max(SHARE * timeoutMs, NEARLY_USUAL * load.usualMs);
  const wanted = (width * wantedMs) / Math.max(tookMs, 1);
  // A limit far above tells nothing. A quick call, such as one that a cache has answered, raises a near one by a little only.
  const next = load.limit > 2 * width ? wanted : load.limit + Math.min((wanted - load.limit) / 8, 1);
  load.limit = Math.max(FEW_CALLS, next);
}
