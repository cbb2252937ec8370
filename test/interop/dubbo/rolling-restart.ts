/**
 * The rolling restart of a provider of ours under the calls of peers, in steps:
 *
 *     start       a replacement is registered
 *     arrive      each consumer has answers from the replacement
 *     withdraw    the old provider has left the registry and still accepts calls, until no consumer calls it any longer
 *     close       the old provider drains its connections, and closes
 *
 * Consumers call in all steps, and no call may fail. Steps wait for the consumers, because of what peers do in ZooKeeper:
 *
 *     dubbo-go 3.3    loses a removal that follows an addition within milliseconds: `handleZkNodeEvent` adds each name
 *                     of a list that it has read, also those whose removal another goroutine has reported meanwhile, and
 *                     the next list that it compares with does not contain them
 *     Java 3.3        applies changes five seconds apart (`ZookeeperRegistryNotifier`), and on a GOAWAY closes its
 *                     connection at once: a call that begins at this moment fails ("Http2 exception")
 *
 * A restart in which nothing but the race of {@link isKnownRace} occurred is repeated.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Server } from "triple-es/node";
import type { Conversation } from "../program.ts";

/** The number of answers by provider. Failed calls are counted by their errors. */
export type Answers = Readonly<Record<string, number>>;

/** Adds up the answers. */
export function parseAnswers(lines: readonly string[]): Answers {
  const sums: Record<string, number> = {};
  for (const line of lines) {
    const [, name, count] = /^answers (\S+) (\d+)$/.exec(line) ?? [];
    if (name !== undefined) sums[name] = (sums[name] ?? 0) + Number(count);
  }
  return sums;
}

/** A consumer of a peer, which calls when it is asked to. */
export interface Consumer {
  readonly peer: "java" | "go";
  /** The name of its cell. */
  readonly cell: string;
  readonly program: Conversation;
}

/** A provider of ours. Its name is in its answers. */
export interface Provider {
  readonly name: string;
  readonly server: Server;
}

export interface RollingRestart {
  readonly consumers: readonly Consumer[];
  /** The names of the providers that are not restarted. */
  readonly others: readonly string[];
  readonly old: Provider;
  readonly start: () => Promise<Provider>;
}

/** The outcome for a consumer. */
export interface Restarted {
  readonly consumer: Consumer;
  readonly answers: Answers;
  /** A description of the failure; `undefined` if there was none. */
  readonly problem: string | undefined;
  /** True if nothing but the known race of the peer has occurred. */
  readonly isKnownRace: boolean;
}

/** Time limit for consumers to notice a change in the registry, in milliseconds. */
const NOTICE_MS = 20_000;

/** Restarts a provider. Returns the replacement and the outcome for each consumer. */
export async function restartRolling({
  consumers,
  others,
  old,
  start,
}: RollingRestart): Promise<[Provider, Restarted[]]> {
  const callers = consumers.map((consumer) => new Caller(consumer));
  const [replacement] = await callDuring(callers, "start", start());
  for (const caller of callers) caller.known = [...others, old.name, replacement.name];

  const hasArrived = ({ last }: Caller): boolean => (last[replacement.name] ?? 0) > 0;
  await callUntil(callers, "arrive", hasArrived, `there was no answer from ${replacement.name}`);
  // Its listener may still be adding the others.
  await callDuring(callers, "arrive", delay(SETTLE_MS));

  let release = (): void => {};
  const left = new Promise<void>((resolve) => {
    release = resolve;
  });
  old.server.onClose(() => left);
  const closed = old.server.close({ graceMs: 4 * NOTICE_MS });
  try {
    const hasLeft = ({ last }: Caller): boolean => last[old.name] === undefined;
    await callUntil(callers, "withdraw", hasLeft, `${old.name} was called after it had left the registry`);
  } finally {
    release();
  }
  await callDuring(callers, "close", closed);
  await callAll(callers, "close");
  return [replacement, callers.map((caller) => caller.outcome())];
}

/** Time between the first answer from the replacement and the removal of the old provider, in milliseconds. */
const SETTLE_MS = 300;

type Step = "start" | "arrive" | "withdraw" | "close";

/** Lets all consumers call until a promise settles, at least once. */
async function callDuring<T>(callers: readonly Caller[], step: Step, promise: Promise<T>): Promise<[T]> {
  let isSettled = false;
  const settled = promise.finally(() => {
    isSettled = true;
  });
  settled.catch(() => {});
  do await callAll(callers, step);
  while (!isSettled);
  return [await settled];
}

/** Lets all consumers call until each satisfies a condition. Those that do not in time have failed. */
async function callUntil(
  callers: readonly Caller[],
  step: Step,
  condition: (caller: Caller) => boolean,
  otherwise: string,
): Promise<void> {
  const deadline = performance.now() + NOTICE_MS;
  for (;;) {
    await callAll(callers, step);
    const waiting = callers.filter((caller) => caller.problem === undefined && !condition(caller));
    if (waiting.length === 0) return;
    if (performance.now() < deadline) continue;
    for (const caller of waiting) caller.problem = `${otherwise} for ${NOTICE_MS / 1_000} s`;
    return;
  }
}

const callAll = (callers: readonly Caller[], step: Step): Promise<unknown> =>
  Promise.all(callers.map((caller) => caller.call(step)));

/** A consumer that calls in each step. */
class Caller {
  known: readonly string[] = [];
  problem: string | undefined;
  /** The answers to the last calls. */
  last: Answers = {};
  readonly #consumer: Consumer;
  readonly #answers: Record<string, number> = {};
  /** The errors of failed calls, each with its step. */
  readonly #failures: { readonly step: Step; readonly error: string; readonly count: number }[] = [];
  #hasEnded = false;

  constructor(consumer: Consumer) {
    this.#consumer = consumer;
  }

  async call(step: Step): Promise<void> {
    if (this.#hasEnded) return;
    try {
      this.last = parseAnswers(await this.#consumer.program.ask("50 5"));
    } catch (reason) {
      this.#hasEnded = true;
      this.problem = String(reason);
      return;
    }
    for (const [name, count] of Object.entries(this.last)) {
      this.#answers[name] = (this.#answers[name] ?? 0) + count;
      if (name.startsWith(FAILED)) this.#failures.push({ step, error: name, count });
    }
  }

  outcome(): Restarted {
    const unknown = Object.keys(this.#answers).filter((name) => !name.startsWith(FAILED) && !this.known.includes(name));
    const problems = [
      ...(this.problem === undefined ? [] : [this.problem]),
      ...unknown.map((name) => `${name} has answered`),
    ];
    const failed = this.#failures.map(({ step, error, count }) => `step ${step}: ${count} x ${error}`);
    const calls = this.#failures.reduce((sum, { count }) => sum + count, 0);
    const consumer = this.#consumer;
    return {
      consumer,
      answers: this.#answers,
      problem: [...problems, ...failed].join("; ") || undefined,
      isKnownRace:
        problems.length === 0 &&
        calls === 1 &&
        this.#failures.every(({ step, error }) => isKnownRace(consumer.peer, step, error)),
    };
  }
}

/** The prefix of errors in the output of the programs of peers. */
const FAILED = "failed:";

/**
 * Reports whether an error is from a race in Dubbo for Java 3.3: when a provider leaves the registry, `destroyUnusedInvokers`
 * closes its connection at once, also if a call has selected the provider and not sent its headers yet. That call fails while
 * the provider still accepts calls and has sent no GOAWAY: 1 of 96 removals under calls without pause. A consumer that makes
 * one call at a time can lose one call so.
 */
function isKnownRace(peer: Consumer["peer"], step: Step, error: string): boolean {
  return peer === "java" && step === "withdraw" && CLOSED_BY_JAVA.test(error);
}

/** The errors of a call that finds its connection closed, before and after `TripleInvoker` has asked for its state. */
const CLOSED_BY_JAVA =
  /UNAVAILABLE_:_upstream_\S+_is_unavailable|INTERNAL_:_Http2_exception_caused_by_\S*ClosedChannel/;
