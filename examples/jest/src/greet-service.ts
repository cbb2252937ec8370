/** The service under test. */
import { Code, RpcError } from "triple-es";
import type { GreetServiceHandler } from "../../gen/greet/v1/greet_triple.ts";

export const greetService: GreetServiceHandler = {
  greet({ name }) {
    if (name === "") throw new RpcError(Code.InvalidArgument, "the name is empty");
    return { greeting: `Hello, ${name}!` };
  },
  async *greetEach({ names }) {
    for (const name of names) yield { greeting: `Hello, ${name}!` };
  },
  async greetTogether(requests) {
    const names: string[] = [];
    for await (const { name } of requests) names.push(name);
    return { greeting: `Hello, ${names.join(" and ")}!` };
  },
  async *greetOnArrival(requests) {
    for await (const { name } of requests) yield { greeting: `Hello, ${name}!` };
  },
};
