/** The command replays recorded calls of every kind and protocol, and lists what another build answers differently. */
import { spawnSync } from "node:child_process";
import dns from "node:dns";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { Code, createDetail, RpcError } from "triple-es";
import { recordCalls } from "triple-es/node";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { GreetServiceHandler } from "../../examples/gen/greet/v1/greet_triple.ts";
import { BadRequestSchema } from "../../runtime/src/gen/google/rpc/error_details_pb.ts";
import { type ReplayArguments, readReplayArguments } from "../../src/replay/arguments.ts";
import { differencesOf } from "../../src/replay/differences.ts";
import { runReplay } from "../../src/replay/replay.ts";
import { compiled } from "../support/compiled.ts";
import { arriving, connectGreeter, failureOf, greetings, startServer } from "../support/server.ts";

type Client = ReturnType<typeof connectGreeter>;
type Protocol = "grpc" | "http-rpc";

/** Records calls to a greeter. Returns the file. */
async function record(
  calls: (client: Client) => Promise<unknown>,
  protocol: Protocol = "grpc",
  handler: Partial<GreetServiceHandler> = {},
  redact: readonly string[] = [],
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "triple-es-replay-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "calls.jsonl");
  const recorder = recordCalls({ file, redact });
  const { baseUrl } = await startServer(handler, { interceptors: [recorder] });
  await calls(connectGreeter(baseUrl, { protocol }));
  await recorder.close();
  return file;
}

/** Replays a file to a greeter. */
async function replay(file: string, handler: Partial<GreetServiceHandler> = {}, ...flags: string[]) {
  const { baseUrl } = await startServer(handler);
  const args = readReplayArguments([file, "--url", baseUrl, ...flags]);
  if (args === "help") throw new Error("asks for help");
  return runReplay(args, "/");
}

const everyKind = async (client: Client): Promise<void> => {
  await client.greet({ name: "Ada" });
  await greetings(client.greetEach({ names: ["Ada", "Bob"] }));
  await client.greetTogether(arriving("Ada", "Bob"));
  await greetings(client.greetOnArrival(arriving("Ada", "Bob")));
};

const unary = (client: Client) => client.greet({ name: "Ada" });
const GREET = "/greet.v1.GreetService/Greet, line 1:";

describe("a replay", () => {
  it("finds no difference in the same build, for calls of every kind", async () => {
    const file = await record(everyKind);
    const outcome = { status: 0, stdout: "4 sent, 0 differ\n", stderr: "" };
    expect(await replay(file)).toEqual(outcome);
    expect(await replay(file, {}, "--concurrency", "3")).toEqual(outcome);
  });

  it.each<Protocol>(["grpc", "http-rpc"])(
    "sends unary calls over their protocol, with their metadata: %s",
    async (protocol) => {
      const seen: string[] = [];
      const handler: Partial<GreetServiceHandler> = {
        greet({ name }, { requestHeaders }) {
          seen.push(`${requestHeaders.get("content-type")} ${requestHeaders.get("x-id")}`);
          return { greeting: name };
        },
      };
      const file = await record(
        (client) => client.greet({ name: "é" }, { headers: { "x-id": "7" } }),
        protocol,
        handler,
      );
      expect((await replay(file, handler)).stdout).toBe("1 sent, 0 differ\n");
      const type = protocol === "grpc" ? "application/grpc+json 7" : "application/json 7";
      expect(seen).toEqual([expect.stringMatching(/ 7$/), type]);
    },
  );

  it("lists fields that differ, with their paths", async () => {
    const file = await record(everyKind);
    const { status, stdout } = await replay(file, {
      greet: () => ({ greeting: "Hi" }),
      async *greetEach() {
        yield { greeting: "Hello, Ada!" };
      },
    });
    expect(status).toBe(1);
    expect(stdout).toBe(
      [
        GREET,
        '  greeting: "Hello, Ada!" became "Hi"',
        "/greet.v1.GreetService/GreetEach, line 2:",
        '  [1]: {"greeting":"Hello, Bob!"} became nothing',
        "4 sent, 2 differ\n",
      ].join("\n"),
    );
  });

  it("leaves out ignored fields, and other methods than the one that is asked for", async () => {
    const file = await record(everyKind);
    const handler = { greet: () => ({ greeting: "Hi" }) };
    expect((await replay(file, handler, "--ignore", "a.b,greeting")).stdout).toBe("4 sent, 0 differ\n");
    expect((await replay(file, handler, "--only", "greet.v1.GreetService/GreetEach")).stdout).toBe(
      "1 sent, 0 differ\n",
    );
    expect((await replay(file, handler, "--only", "/greet.v1.GreetService")).stdout).toContain("4 sent, 1 differ");
  });

  it("fails if no call was sent, as for a misspelled method or the wrong file", async () => {
    const file = await record(unary);
    const failed = { status: 1, stdout: "0 sent, 0 differ\n", stderr: `triple-es: no call of ${file} was sent\n` };
    expect(await replay(file, {}, "--only", "greet.v1.Greet")).toEqual(failed);
    writeFileSync(file, "");
    expect(await replay(file)).toEqual(failed);
  });

  it("prints JSON", async () => {
    const { stdout } = await replay(await record(unary), { greet: () => ({}) }, "--json");
    const differences = [{ path: "greeting", recorded: "Hello, Ada!" }];
    const differing = [{ line: 1, method: "/greet.v1.GreetService/Greet", differences }];
    expect(JSON.parse(stdout)).toEqual({ sent: 1, skipped: {}, differing });
  });

  it.each<Protocol>(["grpc", "http-rpc"])("compares the status of failed calls: %s", async (protocol) => {
    const fail = (code: Code, text = "no") => ({
      greet() {
        const details = [createDetail(BadRequestSchema, {})];
        throw new RpcError(code, text, { details });
      },
    });
    for (const code of [Code.NotFound, Code.FailedPrecondition, Code.DataLoss, Code.Unknown]) {
      const file = await record((client) => failureOf(unary(client)), protocol, fail(code));
      expect((await replay(file, fail(code))).stdout).toBe("1 sent, 0 differ\n");
    }
    const file = await record((client) => failureOf(unary(client)), protocol, fail(Code.NotFound));
    const { stdout } = await replay(file, fail(Code.NotFound, "gone"));
    expect(stdout).toBe(`${GREET}\n  message: "no" became "gone"\n1 sent, 1 differ\n`);
    expect((await replay(file)).stdout).toContain('  code: "not_found" became "ok"');
  });
});

describe("a call that cannot be repeated", () => {
  it("is skipped if its request is masked; a masked response equals any", async () => {
    const request = await record(unary, "grpc", {}, ["name"]);
    expect((await replay(request)).stdout).toBe("skipped 1 with masked fields in the request\n0 sent, 0 differ\n");
    const response = await record(unary, "grpc", {}, ["greeting"]);
    expect((await replay(response, { greet: () => ({ greeting: "Hi" }) })).stdout).toBe("1 sent, 0 differ\n");
  });

  it("is sent without masked metadata", async () => {
    const headers = { authorization: "Bearer a", "x-id": "7" };
    const seen: unknown[] = [];
    const greet: GreetServiceHandler["greet"] = ({ name }, { requestHeaders }) => {
      seen.push([requestHeaders.get("authorization"), requestHeaders.get("x-id")]);
      return { greeting: name };
    };
    const file = await record((client) => client.greet({ name: "Ada" }, { headers }));
    await replay(file, { greet });
    await replay(file, { greet }, "--header", "Authorization: Bearer b", "--header", "x-id:8", "--header", "x-id: 9");
    expect(seen).toEqual([
      [undefined, "7"],
      ["Bearer b", "8, 9"],
    ]);
  });

  it("is skipped if messages are missing, or it was cancelled", async () => {
    const file = await record(async (client) => {
      await client.greet({ name: "a".repeat(70_000) });
      await failureOf(client.greet({}, { timeoutMs: 0 })).catch(() => {});
    });
    const [line = ""] = readFileSync(file, "utf8").split("\n");
    appendFileSync(file, `${line.replace(/"omitted":2/, '"x":0').replace('"ok"', '"canceled"')}\n{"cut`);
    expect((await replay(file)).stdout).toMatch(
      /^skipped 1 with messages that were not recorded\nskipped 1 that ended early\nskipped 1 whose line is not a record\n0 sent/,
    );
  });
});

it("lines that are no calls are skipped, and calls that cannot be sent differ", async () => {
  const file = await record(unary);
  const call = JSON.parse(readFileSync(file, "utf8").split("\n")[0] ?? "");
  const lines = [
    "",
    "null",
    "7",
    "[]",
    '"x"',
    { ...call, kind: "x" },
    { ...call, headers: { a: 1 } },
    { ...call, requests: 0 },
  ];
  writeFileSync(file, lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"));
  expect((await replay(file)).stdout).toBe("skipped 8 whose line is not a record\n0 sent, 0 differ\n");
  const odd = [
    { method: "x" },
    { requests: [] },
    { requests: [null] },
    { requests: [{ name: 7 }] },
    { headers: { é: "" } },
    { headers: null, selector: null },
  ];
  writeFileSync(file, odd.map((one) => `${JSON.stringify({ ...call, ...one })}\n`).join(""));
  expect((await replay(file)).stdout).toMatch(/^skipped 1 without a request\n5 sent, /m);
});

it("two JSON values differ at the paths that were changed, in whatever order their members are", () => {
  const value = fc.jsonValue({ maxDepth: 3 });
  const shuffled = (json: unknown): unknown =>
    Array.isArray(json)
      ? json.map(shuffled)
      : typeof json === "object" && json !== null
        ? Object.fromEntries(
            Object.entries(json)
              .reverse()
              .map(([name, one]) => [name, shuffled(one)]),
          )
        : json;
  fc.assert(
    fc.property(value, (json) => {
      expect(differencesOf(json, shuffled(json), [])).toEqual([]);
      const changed = { a: [{ b: json, c: "new" }] };
      expect(differencesOf({ a: [{ b: json, c: "old" }] }, changed, [])).toEqual([
        { path: "a[0].c", recorded: "old", replayed: "new" },
      ]);
      expect(differencesOf({ a: [{ b: json, c: "old" }] }, changed, ["a.c"])).toEqual([]);
    }),
  );
});

describe("the arguments", () => {
  it.each([
    [[], "replay needs one file, such as calls.jsonl"],
    [["a"], "--url is missing: the server, such as http://localhost:50051"],
    [["a", "--url", "localhost:1"], "--url must be like http://localhost:50051, not localhost:1"],
    [["a", "--url", "x"], "--url must be like http://localhost:50051, not x"],
    [["a", "--url", "http://a", "--concurrency", "0"], "--concurrency must be a whole number from 1 to 1000, not 0"],
    [["a", "--url", "http://a", "--header", "x"], '--header must be like "authorization: Bearer abc", not x'],
    [["a", "--url", "http://a", "--header", "grpc-timeout: 1S"], "--header: grpc-timeout is reserved for the protocol"],
    [["a", "--url", "http://a", "--header", "x: é"], 'metadata "x" must be'],
    [["a", "--urls"], "Unknown option '--urls'"],
  ])("are refused if they are invalid: %j", (args, message) => {
    expect(() => readReplayArguments(args)).toThrow(message);
  });

  it("are explained if no address of a server answers", async () => {
    vi.spyOn(dns, "lookup").mockImplementation(((
      _host: string,
      _options: object,
      done: (...found: unknown[]) => void,
    ) =>
      done(
        null,
        ["127.0.0.1", "127.0.0.2"].map((address) => ({ address, family: 4 })),
      )) as never);
    onTestFinished(() => void vi.restoreAllMocks());
    const args = readReplayArguments(["a.jsonl", "--url", "http://both.example:1"]) as ReplayArguments;
    await expect(runReplay(args, ".")).rejects.toThrow("connect ECONNREFUSED 127.0.0.1:1");
  });

  it("are explained by the executable, which ends with 1 if the file or the server is missing", async () => {
    const start = (...args: string[]) =>
      spawnSync(process.execPath, [compiled("src/triple-es.ts"), "replay", ...args], { encoding: "utf8" });
    expect(start("--help").stdout).toContain("--ignore a.b,c");
    const refused = start("a.jsonl", "--url", "http://127.0.0.1:1");
    expect([refused.status, refused.stderr]).toEqual([1, "triple-es: connect ECONNREFUSED 127.0.0.1:1\n"]);
    const { baseUrl } = await startServer();
    expect(start("missing.jsonl", "--url", baseUrl).stderr).toMatch(/^triple-es: ENOENT: .*missing\.jsonl'\n$/);
  });
});
