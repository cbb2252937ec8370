/** `NODE_DEBUG=triple-es`: a line for each event of a connection, and none without it. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { compiledText } from "../../support/compiled.ts";

const PROGRAM = `
  import { Code, RpcError, createRetry } from "triple-es";
  import { createServer, createTransport } from "triple-es/node";
  import { fixed } from "triple-es/discovery";
  import { createGreetServiceClient, GreetServiceDef } from "./examples/gen/greet/v1/greet_triple.ts";
  const never = () => new Promise(() => {});
  let onBegun, onEnded;
  const begun = new Promise((resolve) => { onBegun = resolve; });
  const ended = new Promise((resolve) => { onEnded = resolve; });
  const server = createServer().add(GreetServiceDef, {
    greet: ({ name }, { signal }) => {
      if (name === "late") {
        signal.addEventListener("abort", onEnded);
        onBegun();
        return never();
      }
      if (name === "again") throw new RpcError(Code.Unavailable, "not now");
      return { greeting: name };
    },
    async *greetEach() {}, greetTogether: never, async *greetOnArrival() {},
  });
  await server.listen({ port: 0, host: "127.0.0.1" });
  const address = "127.0.0.1:" + server.address.port;
  console.log(address);
  const retry = { maxAttempts: 2, initialBackoffMs: 1, applies: () => true };
  const transport = createTransport({ resolver: fixed([address]), retry });
  const client = createGreetServiceClient(transport);
  await client.greet({ name: "Ada" });
  await client.greet({ name: "again" }).catch(() => {});
  const controller = new AbortController();
  const late = client.greet({ name: "late" }, { signal: controller.signal }).catch(() => {});
  await begun;
  controller.abort();
  await late;
  await ended;
  await server.close({ graceMs: 0 });
  await transport.close();
`;

/** A server that ends after the first call, and a call that no server accepts. */
const LOST = `
  import { createServer, createTransport } from "triple-es/node";
  import { createGreetServiceClient, GreetServiceDef } from "./examples/gen/greet/v1/greet_triple.ts";
  const never = () => new Promise(() => {});
  const server = createServer().add(GreetServiceDef, {
    greet: ({ name }) => ({ greeting: name }),
    async *greetEach() {}, greetTogether: never, async *greetOnArrival() {},
  });
  await server.listen({ port: 0, host: "127.0.0.1" });
  const address = "127.0.0.1:" + server.address.port;
  console.log(address);
  const transport = createTransport({ baseUrl: "http://" + address });
  const client = createGreetServiceClient(transport);
  await client.greet({ name: "Ada" });
  await server.close({ graceMs: 0 });
  await client.greet({ name: "Ada" }).catch(() => {});
  await transport.close();
`;

async function run(debug: string, program = PROGRAM): Promise<{ address: string; lines: string[] }> {
  const env = { ...process.env, NODE_DEBUG: debug };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [compiledText(program)], { env });
  const lines = stderr.split("\n").flatMap((line) => /^TRIPLE-ES \d+: (.*)$/.exec(line)?.[1] ?? []);
  return { address: stdout.trim(), lines };
}

it("prints connections, resolution, picks, retries, resets and GOAWAYs", async () => {
  const { address, lines } = await run("triple-es");
  for (const expected of [
    /^resolved .*127\.0\.0\.1/,
    `connecting to ${address} over HTTP/2`,
    /^connected to .* over HTTP\/2 in \d+ ms$/,
    /^connection from 127\.0\.0\.1:\d+ over HTTP\/2$/,
    `picked ${address} for /greet.v1.GreetService/Greet`,
    /^retry 1 of \/greet\.v1\.GreetService\/Greet in \d+ ms: \[unavailable\] not now$/,
    /^reset stream \d+ to 127\.0\.0\.1:\d+: \[canceled\]/,
    /^call of \/greet\.v1\.GreetService\/Greet was reset with HTTP\/2 code 8 by peer$/,
    /^GOAWAY to 127\.0\.0\.1:\d+/,
    /^GOAWAY from .* with HTTP\/2 code 0/,
    /^connection to .* closed$/,
  ]) {
    expect(lines).toContainEqual(typeof expected === "string" ? expected : expect.stringMatching(expected));
  }
});

it("prints a connection that is refused as one failure, and a connection that ends as closed", async () => {
  const { address, lines } = await run("triple-es", LOST);
  const client = lines.filter((line) => /^(connect\w+|connection) to /.test(line));
  // The second attempt may begin before the first connection is closed.
  expect(client.map((line) => line.replace(/\d+ ms/, "N ms")).sort()).toEqual([
    `connected to ${address} over HTTP/2 in N ms`,
    `connecting to ${address} over HTTP/2`,
    `connecting to ${address} over HTTP/2`,
    `connection to ${address} closed`,
    `connection to ${address} failed: connect ECONNREFUSED ${address}`,
  ]);
});

it("prints nothing for other packages", async () => {
  expect((await run("http2x")).lines).toEqual([]);
});
