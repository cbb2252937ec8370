/** Methods without proto files: those of contracts in TypeScript are replayed, those of Java interfaces are skipped. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer, createTransport, recordCalls, type Server } from "triple-es/node";
import { expect, it, onTestFinished } from "vitest";
import { createShopClient, ShopDef, type ShopHandler } from "../../fixtures/contract/gen/shop_triple.ts";
import { type ReplayArguments, readReplayArguments } from "../../src/replay/arguments.ts";
import { runReplay } from "../../src/replay/replay.ts";
import { everything, receipt, shop } from "../contract/typescript/shop.ts";
import * as java from "../support/shop.ts";

function temporaryFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "triple-es-replay-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "calls.jsonl");
}

async function listen(server: Server): Promise<string> {
  await server.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return `http://127.0.0.1:${server.address.port}`;
}

async function replay(file: string, server: Server): Promise<string> {
  const url = await listen(server);
  const args = readReplayArguments([file, "--url", url]);
  return (await runReplay(args as ReplayArguments, "/")).stdout;
}

async function* each<T>(...values: T[]): AsyncGenerator<T> {
  yield* values;
}

it.each(["grpc", "http-rpc"] as const)("calls of a contract are replayed: %s", async (protocol) => {
  const file = temporaryFile();
  const recorder = recordCalls({ file });
  const baseUrl = await listen(createServer({ interceptors: [recorder] }).add(ShopDef, shop));
  const transport = createTransport({ baseUrl, protocol });
  const client = createShopClient(transport);
  await client.order(receipt.order);
  await client.stock("lamp");
  await client.stock("moon");
  await client.echo(everything);
  await client.now();
  await client.ping();
  for await (const _ of client.watch({ id: 5n }));
  if (protocol === "grpc") {
    await client.total(each({ thing: "a", count: 2 }));
    for await (const _ of client.find(each("a", "")));
  }
  await transport.close();
  await recorder.close();
  const sent = protocol === "grpc" ? 9 : 7;
  expect(await replay(file, createServer().add(ShopDef, shop))).toBe(`${sent} sent, 0 differ\n`);
  const other: ShopHandler = { ...shop, stock: () => 8, order: (order) => ({ id: 2n, order }) };
  expect(await replay(file, createServer().add(ShopDef, other))).toBe(
    [
      "/shop.v1.Shop/order, line 1:",
      '  id: "1" became "2"',
      "/shop.v1.Shop/stock, line 2:",
      "  response: 7 became 8",
      "/shop.v1.Shop/stock, line 3:",
      "  response: null became 8",
      `${sent} sent, 3 differ\n`,
    ].join("\n"),
  );
});

it("calls of a Java interface are recorded and skipped", async () => {
  const file = temporaryFile();
  const recorder = recordCalls({ file });
  const baseUrl = await listen(createServer({ interceptors: [recorder] }).add(java.ShopDef, java.shop));
  const transport = createTransport({ baseUrl, protocol: "http-rpc" });
  await java.createShopClient(transport).sayHi("Ada", "Hi");
  await transport.close();
  await recorder.close();
  const reported = await replay(file, createServer().add(java.ShopDef, java.shop));
  expect(reported).toBe("skipped 1 of a Java interface\n0 sent, 0 differ\n");
});
