/**
 * The callers: they make the calls of the plan, read the responses as it says, and record the results.
 */
import type { CallContext, ContextKey, TransparentRetryEvent } from "triple-es";
import type { Product } from "./bundle.ts";
import type { QuestionInit, SimulationServiceClient } from "./gen/simulation/v1/simulation_triple.ts";
import { type Entry, fill, type Ledger, OK } from "./ledger.ts";
import type { Operation } from "./plan.ts";
import { CALL_ID, problemOf } from "./service.ts";
import type { World } from "./world.ts";

/** A client of the service, and one whose methods no server has. */
export interface Clients {
  readonly known: SimulationServiceClient;
  readonly unknown: SimulationServiceClient;
}

export class Caller {
  /** The key of a call's number in its context. */
  readonly #callId: ContextKey<string>;
  readonly #product: Product;
  readonly #world: World;
  readonly #ledger: Ledger;

  constructor(product: Product, world: World, ledger: Ledger) {
    this.#product = product;
    this.#callId = product.createContextKey("", "call");
    this.#world = world;
    this.#ledger = ledger;
  }

  /** Makes a call. Never rejects. */
  async call(clients: Clients, operation: Operation, maxExecutions: number): Promise<number> {
    const id = String(operation.id);
    const entry = this.#ledger.start(id, operation, maxExecutions);
    const controller = operation.cancelAfterMs === undefined ? undefined : new AbortController();
    if (controller !== undefined) this.#world.after(operation.cancelAfterMs ?? 0, () => controller.abort());
    const options = {
      headers: { [CALL_ID]: id },
      timeoutMs: operation.timeoutMs,
      waitForReady: operation.waitForReady,
      signal: controller?.signal,
      values: this.#product.createContextValues().set(this.#callId, id),
    };
    try {
      await this.#run(operation.behaviour === "unknown method" ? clients.unknown : clients.known, entry, options);
      this.#ledger.settle(id, entry, OK, "");
      return OK;
    } catch (reason) {
      if (reason instanceof this.#product.RpcError) {
        this.#ledger.settle(id, entry, reason.code, reason.rawMessage);
        return reason.code;
      }
      this.#ledger.settle(id, entry, OK, "");
      this.#ledger.violate("I13", `call ${id} rejected with ${reason}, which is no RpcError`);
      return -1;
    }
  }

  /** Records the report of a transparent retry, of a call with one attempt at a time. */
  onTransparentRetry({ context, delayMs }: TransparentRetryEvent): void {
    this.#ledger.retry(context?.values?.get(this.#callId) ?? "", delayMs);
  }

  /** Records that the policy of a call starts another attempt. */
  onAttempt({ values }: CallContext): void {
    this.#ledger.attempt(values.get(this.#callId));
  }

  async #run(client: SimulationServiceClient, entry: Entry, options: object): Promise<void> {
    const { operation } = entry;
    const { kind, messages, behaviour } = operation;
    if (kind === "ask" || kind === "askAgain") {
      const response = await client[kind](question(operation, 0), options);
      this.#check(entry, problemOf(entry, response, 0));
    } else if (kind === "upload") {
      const response = await client.upload(this.#questions(operation), options);
      this.#check(entry, problemOf(entry, response, behaviour === "early" ? 0 : messages));
    } else if (kind === "download") await this.#read(entry, client.download(question(operation, 0), options));
    else await this.#read(entry, client.talk(this.#questions(operation), options));
  }

  async #read(entry: Entry, answers: AsyncIterable<Parameters<typeof problemOf>[1]>): Promise<void> {
    const { messages, readMessages = Number.POSITIVE_INFINITY, behaviour, pauseMs, kind } = entry.operation;
    let count = 0;
    if (readMessages > 0) {
      for await (const answer of answers) {
        this.#check(entry, problemOf(entry, answer, count++));
        if (count >= readMessages) break;
        if (pauseMs > 0 && kind === "download") await this.#world.sleep(pauseMs);
      }
    }
    const expected = Math.min(readMessages, behaviour === "early" ? 0 : messages);
    if (count !== expected) this.#check(entry, `ended as successful after ${count} of ${expected} answers`);
  }

  async *#questions(operation: Operation): AsyncIterable<QuestionInit> {
    for (let i = 0; i < operation.messages; i++) {
      if (operation.pauseMs > 0) await this.#world.sleep(operation.pauseMs);
      yield question(operation, i);
    }
  }

  #check({ operation }: Entry, problem: string | undefined): void {
    if (problem !== undefined) this.#ledger.violate("I2", `call ${operation.id} (${operation.kind}) ${problem}`);
  }
}

function question({ id, requestBytes }: Operation, sequence: number): QuestionInit {
  return { sequence, payload: fill(id, "q", sequence, requestBytes) };
}
