/** The example in Bun and Deno, which call each other, and Node, which calls both. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code } from "triple-es";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createShopServiceClient } from "../../examples/gen/shop/v1/shop_triple.ts";
import { isExampleInstalled, prepareExample } from "../support/examples.ts";
import { platformEnvironment, programOf } from "../support/platforms.ts";
import { type Program, startProgram } from "../support/program.ts";
import { openTransport, readUntilFailure } from "../support/server.ts";

describe.skipIf(!isExampleInstalled("runtimes"))("the example runtimes", () => {
  const cache = mkdtempSync(join(tmpdir(), "triple-es-runtimes-"));

  beforeAll(() => prepareExample("runtimes"));

  afterAll(() => rmSync(cache, { recursive: true, force: true }));

  const run = (name: "Bun" | "Deno", file: string, port: string): Program => {
    const permissions = name === "Deno" ? ["run", "--no-prompt", "--allow-net", "--allow-env", "--allow-read"] : [];
    const env = { ...platformEnvironment(cache), PORT: port };
    const program = startProgram("runtimes", [programOf(name), ...permissions, file], env);
    onTestFinished(async () => void (await program.stop()));
    return program;
  };

  it.each([
    ["Bun", "Deno"],
    ["Deno", "Bun"],
  ] as const)("serves in %s what a client in %s and one in Node call, and ends on SIGTERM", async (server, client) => {
    const program = run(server, "src/server.ts", "0");
    const [, name, url = ""] = await program.line(/^(\w+)\/.* serves the shop at (.*)/);
    expect(name).toBe(server);
    const calls = run(client, "src/client.ts", new URL(url).port);
    await calls.line(/of Ann/);
    expect((await calls.stop()).split("\n")).toEqual([
      expect.stringMatching(new RegExp(`^${client}/\\d.* calls ${url}$`)),
      "HTTP RPC: Teapot, Cup, Green tea",
      "gRPC: order 1 costs 13 EUR",
      "gRPC: [invalid_argument] the order is invalid: items",
      "gRPC: order 1 of Ann",
    ]);

    const { begun, failed } = readUntilFailure(createShopServiceClient(openTransport(url)).watchOrders({}));
    await begun;
    const stopped = program.stop();
    expect((await failed).code).toBe(Code.Unavailable);
    expect(await stopped).toContain("the shop is closed");
  });
});
