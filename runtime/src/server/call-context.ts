/**
 * The context of a call on a server, which knows how the call was answered.
 */

import { OpenContext } from "../call/context.ts";
import type { RpcError } from "../call/error.ts";
import type { AnsweredContext } from "../call/outcome.ts";

type AnswerListener = (error: RpcError | undefined) => void;

export class ServerContext extends OpenContext implements AnsweredContext {
  #answer: RpcError | "ok" | undefined;
  #listeners: readonly AnswerListener[] | undefined;

  onAnswered(callback: AnswerListener): void {
    if (this.#answer === undefined) this.#listeners = [...(this.#listeners ?? []), callback];
    else callback(this.#answer === "ok" ? undefined : this.#answer);
  }

  /** The protocol has made the answer, or the error that takes its place. Only the first one counts. */
  answered(error?: RpcError): void {
    if (this.#answer !== undefined) return;
    this.#answer = error ?? "ok";
    if (this.#listeners === undefined) return;
    for (const tell of this.#listeners) tell(error);
    this.#listeners = undefined;
  }
}
