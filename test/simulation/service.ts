/**
 * The handlers of simulated servers. They do what the plan says for their call, and check what they receive.
 */
import type { Code, HandlerContext } from "triple-es";
import type { Product } from "./bundle.ts";
import type { Answer, Question } from "./gen/simulation/v1/simulation_pb.ts";
import type { AnswerInit, SimulationServiceHandler } from "./gen/simulation/v1/simulation_triple.ts";
import { type Entry, type Execution, fill, type Ledger } from "./ledger.ts";
import type { World } from "./world.ts";

export const CALL_ID = "x-call-id";

export function createHandler(
  product: Product,
  world: World,
  ledger: Ledger,
  server: string,
): SimulationServiceHandler {
  const answer = (entry: Entry, sequence: number): AnswerInit => {
    const { id, responseBytes } = entry.operation;
    return { call: String(id), sequence, payload: fill(id, "a", sequence, responseBytes) };
  };

  function check({ operation }: Entry, question: Question, sequence: number): void {
    if (question.sequence !== sequence) {
      ledger.violate(
        "I2",
        `${server} received request ${question.sequence} of call ${operation.id} in place of ${sequence}`,
      );
    } else if (!fill(operation.id, "q", sequence, operation.requestBytes).equals(question.payload)) {
      ledger.violate("I2", `${server} received wrong bytes in request ${sequence} of call ${operation.id}`);
    }
  }

  /** Does what comes before an answer. */
  async function behave({ operation, executions }: Entry, { signal }: HandlerContext): Promise<void> {
    const { behaviour, delayMs, code } = operation;
    if (behaviour === "delay") await world.sleep(delayMs);
    else if (behaviour === "work") await Promise.race([world.sleep(delayMs), aborted(signal)]);
    else if (behaviour === "wait" || (behaviour === "hang" && executions.length === 1)) {
      await aborted(signal);
    } else if (behaviour === "fail") throw new product.RpcError(code as Code, "as planned");
  }

  function begin({ requestHeaders, peer }: HandlerContext): [entry: Entry, end: () => void] {
    const entry = ledger.execute(requestHeaders.get(CALL_ID) ?? "", server);
    const execution: Execution = { server, port: peer.port };
    entry.running.add(execution);
    return [entry, () => entry.running.delete(execution)];
  }

  async function run<T>(context: HandlerContext, body: (entry: Entry) => Promise<T>): Promise<T> {
    const [entry, end] = begin(context);
    try {
      return await body(entry);
    } finally {
      end();
    }
  }

  const ask = (question: Question, context: HandlerContext): Promise<AnswerInit> =>
    run(context, async (entry) => {
      check(entry, question, 0);
      await behave(entry, context);
      return answer(entry, 0);
    });

  /** Reads all requests, unless the plan answers early. Returns their number. */
  async function readAll(entry: Entry, questions: AsyncIterable<Question>): Promise<number> {
    if (entry.operation.behaviour === "early" || entry.operation.behaviour === "fail") return 0;
    let count = 0;
    for await (const question of questions) check(entry, question, count++);
    return count;
  }

  async function* each(
    context: HandlerContext,
    produce: (entry: Entry) => AsyncIterable<AnswerInit>,
  ): AsyncIterable<AnswerInit> {
    const [entry, end] = begin(context);
    try {
      yield* produce(entry);
    } finally {
      end();
    }
  }

  return {
    ask,
    askAgain: ask,
    download: (question, context) =>
      each(context, async function* (entry) {
        check(entry, question, 0);
        await behave(entry, context);
        const { messages, pauseMs, behaviour } = entry.operation;
        for (let i = 0; i < (behaviour === "early" ? 0 : messages); i++) {
          if (pauseMs > 0) await world.sleep(pauseMs);
          yield answer(entry, i);
        }
      }),
    upload: (questions, context) =>
      run(context, async (entry) => {
        const count = await readAll(entry, questions);
        await behave(entry, context);
        return answer(entry, count);
      }),
    talk: (questions, context) =>
      each(context, async function* (entry) {
        await behave(entry, context);
        if (entry.operation.behaviour === "early") return;
        let count = 0;
        for await (const question of questions) {
          check(entry, question, count);
          yield answer(entry, count++);
        }
      }),
  };
}

/** Rejects with the reason of a signal when it fires. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** Checks a response. Returns what is wrong with it. */
export function problemOf({ operation }: Entry, answer: Answer, sequence: number): string | undefined {
  const { id, responseBytes } = operation;
  if (answer.call !== String(id)) return `received an answer of call ${answer.call}`;
  if (answer.sequence !== sequence) return `received answer ${answer.sequence} in place of ${sequence}`;
  return fill(id, "a", sequence, responseBytes).equals(answer.payload)
    ? undefined
    : `received wrong bytes in answer ${sequence}`;
}
