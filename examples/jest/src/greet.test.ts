import { describe, expect, jest, test } from "@jest/globals";
import { Code, createFakeClient, createInMemoryTransport, createRouter, RpcError } from "triple-es";
import { createServer, createTransport } from "triple-es/node";
import { createGreetServiceClient, GreetServiceDef } from "../../gen/greet/v1/greet_triple.ts";
import { greetService } from "./greet-service.js";
import { welcome } from "./welcome.js";

describe("the service", () => {
  const router = createRouter().add(GreetServiceDef, greetService);
  const greeter = createGreetServiceClient(createInMemoryTransport(router));

  test("greets", async () => {
    expect(await greeter.greet({ name: "Ann" })).toMatchObject({ greeting: "Hello, Ann!" });
  });

  test("refuses an empty name", async () => {
    await expect(greeter.greet({ name: "" })).rejects.toMatchObject({ code: Code.InvalidArgument });
  });

  test("greets each over a network", async () => {
    const server = createServer().add(GreetServiceDef, greetService);
    await server.listen({ port: 0, host: "127.0.0.1" });
    const transport = createTransport({ baseUrl: `http://127.0.0.1:${server.address.port}` });
    const greetings: string[] = [];
    for await (const { greeting } of createGreetServiceClient(transport).greetEach({ names: ["Ann", "Bob"] })) {
      greetings.push(greeting);
    }
    await transport.close();
    await server.close();
    expect(greetings).toEqual(["Hello, Ann!", "Hello, Bob!"]);
  });
});

describe("a caller", () => {
  test("has a greeting without the service", async () => {
    const greet = jest.fn(() => {
      throw new RpcError(Code.Unavailable, "no server");
    });
    expect(await welcome(createFakeClient(GreetServiceDef, { greet }), "Ann")).toBe("Hello!");
    expect(greet).toHaveBeenCalledTimes(1);
  });
});
