/**
 * The format of generated code: the runtime supports every format since the first release, and refuses others when a program
 * starts. `fixtures/format-1` is code of the first release; it is never generated again.
 */
import { createInMemoryTransport, createRouter, type ServiceDef } from "triple-es";
import { describe, expect, it } from "vitest";
import { GreetServiceDef as Current } from "../../examples/gen/greet/v1/greet_triple.ts";
import {
  createGreetServiceClient,
  GreetServiceDef,
  type GreetServiceHandler,
} from "../../fixtures/format-1/greet/v1/greet_triple.ts";
import { createClient } from "../../runtime/src/stub.ts";
import { FORMAT } from "../../src/version.ts";
import { arriving, greeter, greetings } from "../support/server.ts";

const transport = createInMemoryTransport(createRouter());

/** The definition as another generator would have printed it. */
function ofFormat(format: number): ServiceDef<object, GreetServiceHandler> {
  return { ...GreetServiceDef, format } as unknown as ServiceDef<object, GreetServiceHandler>;
}

describe("generated code", () => {
  it("has the format of the generator", () => {
    expect(`${Current.format}`).toBe(FORMAT);
  });

  it("of format 1 works with this runtime, in calls of every kind", async () => {
    const client = createGreetServiceClient(
      createInMemoryTransport(createRouter().add(GreetServiceDef, greeter as GreetServiceHandler)),
    );
    expect((await client.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    expect(await greetings(client.greetEach({ names: ["Ada", "Bob"] }))).toEqual(["Hello, Ada!", "Hello, Bob!"]);
    expect((await client.greetTogether(arriving("Ada", "Bob"))).greeting).toBe("Hello, Ada and Bob!");
    expect(await greetings(client.greetOnArrival(arriving("Ada")))).toEqual(["Hello, Ada!"]);
  });

  it.each([
    [2, "a newer triple-es"],
    [0, "newer generated code"],
  ])("of format %i is refused by servers and clients", (format, lack) => {
    const service = ofFormat(format);
    expect(() => createRouter().add(service, greeter as GreetServiceHandler)).toThrow(
      new TypeError(`a server of greet.v1.GreetService needs ${lack}`),
    );
    expect(() => createClient(service, transport)).toThrow(
      new TypeError(`a client of greet.v1.GreetService needs ${lack}`),
    );
  });

  it("of another format is refused by the compiler too", () => {
    // @ts-expect-error: Type '2' is not assignable to type '1'.
    const newer: Pick<ServiceDef<object, object>, "format"> = { format: 2 };
    expect(newer.format).toBe(2);
  });
});
