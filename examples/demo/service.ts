/** The service of the demo: an implementation of everything `proto/greet/v1/greet.proto` declares. */
import { once } from "node:events";
import { Code, RpcError } from "triple-es";
import type { GreetServiceHandler } from "../gen/greet/v1/greet_triple.ts";

const greetingOf = (name: string): string => `Hello, ${name}!`;

export const greetService: GreetServiceHandler = {
  async greet({ name }, context) {
    if (name === "") throw new RpcError(Code.InvalidArgument, "the name is empty");
    // The name Snail gets no answer, so that a deadline passes.
    if (name === "Snail") await once(context.signal, "abort");
    const seal = context.requestHeaders.getBinary("seal-bin");
    if (seal !== undefined) {
      context.responseHeaders.set("sealed-by", "the greeter");
      context.responseTrailers.set("seal-bin", seal.toReversed());
    }
    return { greeting: greetingOf(name) };
  },

  async *greetEach({ names }) {
    for (const name of names) yield { greeting: greetingOf(name) };
  },

  async greetTogether(requests) {
    const names: string[] = [];
    for await (const { name } of requests) names.push(name);
    return { greeting: greetingOf(names.join(" and ")) };
  },

  async *greetOnArrival(requests) {
    for await (const { name } of requests) yield { greeting: greetingOf(name) };
  },
};
