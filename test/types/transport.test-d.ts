/**
 * Errors of the compiler for options of transports: each is reported at the wrong option, not at the resolver or
 * registry.
 */
import { fixed, p2c, roundRobin } from "triple-es/discovery";
import { createTransport } from "triple-es/node";
import { etcd } from "triple-es-dubbo/etcd";
import { expectTypeOf, it } from "vitest";

const resolver = fixed(["127.0.0.1:1"]);
const registry = etcd({ servers: ["127.0.0.1:1"] });

it("names the option that is misspelled", () => {
  createTransport({
    resolver,
    // @ts-expect-error: balancer
    balencer: roundRobin(),
  });
  createTransport({
    registry,
    // @ts-expect-error: subset
    subsets: 20,
  });
  createTransport({
    resolver,
    retry: {
      // @ts-expect-error: maxAttempts
      maxAttempt: 3,
    },
  });
});

it("names the option that a transport to one server does not have", () => {
  createTransport({
    baseUrl: "http://127.0.0.1:1",
    // @ts-expect-error: only with a resolver
    balancer: p2c(),
  });
});

it("returns a transport with endpoints for a resolver and for a registry", () => {
  expectTypeOf(createTransport({ resolver }).endpoints).toBeFunction();
  expectTypeOf(createTransport({ registry }).endpoints).toBeFunction();
  expectTypeOf(createTransport({ baseUrl: "http://127.0.0.1:1" })).not.toHaveProperty("endpoints");
});
