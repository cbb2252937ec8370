import { Code, RpcError } from "triple-es";
import type { HelloServiceHandler } from "./gen/hello/v1/hello_triple.js";

/** The methods of the service. One that is missing, or returns another type, is a type error. */
export const helloService: HelloServiceHandler = {
  sayHello({ name }) {
    if (name.trim() === "") throw new RpcError(Code.InvalidArgument, "the name is empty");
    return { greeting: `Hello, ${name}!` };
  },

  async *greetEach({ names }) {
    for (const name of names) yield { greeting: `Hello, ${name}!` };
  },
};
