import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { HelloService } from "./gen/hello/v1/hello_pb.js";

export const routes = (router: ConnectRouter) =>
  router.service(HelloService, {
    sayHello({ name }) {
      if (name === "") throw new ConnectError("the name is empty", Code.InvalidArgument);
      return { greeting: `Hello, ${name}!` };
    },
    async *greetEach({ names }) {
      for (const name of names) yield { greeting: `Hello, ${name}!` };
    },
  });
