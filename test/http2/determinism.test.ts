/** The engine has no clock, no randomness and no dependency on the platform: equal input gives equal output. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { data, END_HEADERS, END_STREAM, headers, ping, REQUEST, settings } from "./support/frames.ts";
import { bytesOf, frozen, RecordedServer } from "./support/recorder.ts";

const FOLDER = join(import.meta.dirname, "../../runtime/src/http2");
const files = readdirSync(FOLDER, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));

it.each(files)("%s uses nothing of the platform, and is no longer than 350 lines", (name) => {
  const source = readFileSync(join(FOLDER, name), "utf8");
  const code = source.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
  expect(code).not.toMatch(
    /\b(?:Date|performance|setTimeout|setInterval|setImmediate|queueMicrotask|Promise|async|await|process|Buffer|globalThis)\b|Math\.random|node:|TextDecoder/,
  );
  for (const [, imported] of code.matchAll(/from "([^"]+)"/g)) expect(imported).toMatch(/^\.{1,2}\/[a-z0-9./-]+\.ts$/);
  expect(source.split("\n").length).toBeLessThanOrEqual(351);
});

it("equal input gives equal output", () => {
  const run = (): Buffer => {
    const server = new RecordedServer();
    server.onRequest = (stream) =>
      stream.respond(200, frozen("content-type", "a/b"), bytesOf(100), frozen("x", "1"), true);
    const output: Buffer[] = [];
    for (let id = 1; id < 100; id += 2) {
      server.receive(
        Buffer.concat([headers(id, REQUEST, END_HEADERS), data(id, bytesOf(50), END_STREAM), ping()]),
        settings(),
      );
      output.push(server.bytes());
    }
    return Buffer.concat(output);
  };
  expect(run().equals(run())).toBe(true);
});
