/**
 * A resolver by plan: the lists of a registry, its failures, and its return.
 */
import type { Endpoint, Resolver } from "triple-es/discovery";
import type { EndpointSource } from "./endpoint-source.ts";

export class PlannedRegistry implements EndpointSource {
  #list: readonly Endpoint[];
  #isFailing = false;
  #version = 0;
  #waiting: (() => void)[] = [];

  constructor(list: readonly Endpoint[]) {
    this.#list = list;
  }

  /** Publishes a list, or fails until the next list. */
  publish(list: readonly Endpoint[] | undefined): void {
    this.#isFailing = list === undefined;
    if (list !== undefined) this.#list = list;
    this.#version++;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  heal(): void {}

  readonly resolver: Resolver = ({ signal }) => this.#lists(signal);

  async *#lists(signal: AbortSignal): AsyncGenerator<readonly Endpoint[]> {
    for (let seen = -1; !signal.aborted; ) {
      if (this.#isFailing) throw new Error("the registry cannot be reached");
      if (seen !== this.#version) {
        seen = this.#version;
        yield this.#list;
      } else await this.#change(signal);
    }
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        signal.removeEventListener("abort", wake);
        resolve();
      };
      signal.addEventListener("abort", wake);
      this.#waiting.push(wake);
    });
  }
}
