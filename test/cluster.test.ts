/**
 * The example with several processes behind one port: all processes serve calls, and no call is lost while they are
 * replaced.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { createTransport } from "triple-es/node";
import { expect, it, onTestFinished } from "vitest";
import { createGreetServiceClient } from "../examples/gen/greet/v1/greet_triple.ts";
import { compiled } from "./support/compiled.ts";
import { ROOT } from "./support/documents.ts";

it("spreads connections over processes, and loses no call while SIGHUP replaces them", async () => {
  const args = [compiled("examples/cluster/main.ts"), "0", "2"];
  const program = spawn(process.execPath, args, { cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void program.kill("SIGKILL"));
  const lines = createInterface({ input: program.stdout })[Symbol.asyncIterator]();
  const listening = String((await lines.next()).value);
  expect((await lines.next()).value).toBe("2 processes");

  const baseUrl = `http://127.0.0.1:${listening.split(":").at(-1)}`;
  const transports = Array.from({ length: 4 }, () => createTransport({ baseUrl }));
  onTestFinished(async () => void (await Promise.all(transports.map((transport) => transport.close()))));
  const clients = transports.map((transport) => createGreetServiceClient(transport));
  const pidsOf = async (): Promise<Set<string>> => {
    const answers = await Promise.all(clients.map((client) => client.greet({ name: "Ann" })));
    return new Set(answers.map(({ greeting }) => greeting.replace("Hello, Ann, from process ", "")));
  };
  const before = await pidsOf();
  expect(before.size).toBe(2);

  let isReplacing = true;
  let calls = 0;
  const caller = async (client: (typeof clients)[0]): Promise<void> => {
    for (; isReplacing; calls++) await client.greet({ name: "Bob" });
  };
  const running = clients.map(caller);
  program.kill("SIGHUP");
  expect((await lines.next()).value).toBe("all processes are replaced");
  isReplacing = false;
  await Promise.all(running);
  expect(calls).toBeGreaterThan(0);
  const after = await pidsOf();
  expect([...after].filter((pid) => before.has(pid))).toEqual([]);

  program.kill("SIGTERM");
  expect(await once(program, "exit")).toEqual([0, null]);
});
