/**
 * Idempotent calls in flight on a provider that is killed: with a retry policy and the default budget none is lost, by the
 * option `retry` and by a service config.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fixed } from "triple-es/discovery";
import { createTransport } from "triple-es/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { createGreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import { compiledText } from "../support/compiled.ts";

/** Serves greeters on free ports, prints their addresses and a line for each call, and answers after it has got a line. */
const PROVIDERS = `
  import { createServer } from "triple-es/node";
  import { GreetServiceDef } from "./examples/gen/greet/v1/greet_triple.ts";
  const released = new Promise((resolve) => process.stdin.once("data", resolve));
  const greet = async () => {
    console.log("CALL");
    await released;
    return { greeting: "hello" };
  };
  const addresses = [];
  for (let i = 0; i < Number(process.argv[2]); i++) {
    const server = createServer().add(GreetServiceDef, { greet });
    await server.listen({ port: 0, host: "127.0.0.1" });
    addresses.push("127.0.0.1:" + server.address.port);
  }
  console.log(addresses.join());
`;

async function startProviders(count: number) {
  const args = [compiledText(PROVIDERS), `${count}`];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const state = { child, addresses: [] as string[], calls: 0 };
  const lines = createInterface({ input: child.stdout });
  const [first] = (await once(lines, "line")) as [string];
  state.addresses = first.split(",");
  lines.on("line", () => state.calls++);
  return state;
}

/** The time in which processes that were started reach a state. */
const LATER = { timeout: 20_000 };

const retryPolicy = {
  maxAttempts: 4,
  initialBackoff: "0.1s",
  maxBackoff: "5s",
  backoffMultiplier: 2,
  retryableStatusCodes: ["UNAVAILABLE"],
};

describe("calls in flight on a provider that is killed", () => {
  it.each([
    ["100 calls on five providers, option retry", 100, 4, { retry: { maxAttempts: 4, applies: () => true } }],
    [
      "16 calls on two providers, service config",
      16,
      1,
      { serviceConfig: { methodConfig: [{ name: [{}], retryPolicy }] } },
    ],
  ])("are answered by the others: %s", async (_, calls, others, policy) => {
    const [dies, stay] = await Promise.all([startProviders(1), startProviders(others)]);
    const resolver = fixed([...dies.addresses, ...stay.addresses]);
    const retried: number[] = [];
    const transport = createTransport({ resolver, onRetry: ({ attempt }) => retried.push(attempt), ...policy });
    onTestFinished(() => transport.close({ graceMs: 0 }));
    const client = createGreetServiceClient(transport);
    const results = [client.greet({})];
    await expect
      .poll(() => transport.endpoints().filter(({ state }) => state === "ready").length, LATER)
      .toBe(1 + others);
    while (results.length < calls) results.push(client.greet({}));
    await expect.poll(() => dies.calls + stay.calls, LATER).toBe(calls);
    dies.child.kill("SIGKILL");
    await once(dies.child, "exit");
    stay.child.stdin.write("go\n");
    const lost = (await Promise.allSettled(results)).filter(({ status }) => status === "rejected");
    expect(lost).toEqual([]);
    expect(retried.length).toBe(dies.calls);
    // Many enough that a budget of ten tokens would not have covered them.
    expect(dies.calls).toBeGreaterThan(4);
  });
});
