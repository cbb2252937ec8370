/** Recordings have a line for each call, within their limits, and never fail a call. */
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { Code, createInMemoryTransport, createRouter, Metadata, type Method, RpcError } from "triple-es";
import { recordCalls } from "triple-es/node";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createGreetServiceClient, GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { SecretSchema } from "../support/secrets.ts";
import { arriving, failureOf, greeter, greetings } from "../support/server.ts";

type Options = Omit<Parameters<typeof recordCalls>[0], "file">;

function temporaryFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "triple-es-record-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "calls.jsonl");
}

/** A greeter in memory whose calls are recorded. `lines` ends the recording. */
function record(options: Options = {}, handler: Partial<typeof greeter> = {}, file = temporaryFile()) {
  const recorder = recordCalls({ file, ...options });
  const router = createRouter({ interceptors: [recorder], onError: () => {} });
  router.add(GreetServiceDef, { ...greeter, ...handler });
  const client = createGreetServiceClient(createInMemoryTransport(router));
  const lines = async () => {
    await recorder.close();
    return linesOf(file);
  };
  return { client, lines, recorder, file };
}

const linesOf = (file: string) =>
  readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

const END = { end: "closed", dropped: 0 };

describe("a recording", () => {
  it("has the messages and the status of calls of every kind", async () => {
    const { client, lines } = record();
    await client.greet({ name: "Ada" });
    await greetings(client.greetEach({ names: ["Ada", "Bob"] }));
    await client.greetTogether(arriving("Ada", "Bob"));
    await greetings(client.greetOnArrival(arriving("Ada", "Bob")));
    const [ada, bob] = [{ name: "Ada" }, { name: "Bob" }];
    const hello = (name: string) => ({ greeting: `Hello, ${name}!` });
    const calls = await lines();
    expect(calls.map(({ kind, requests, responses, code }) => [kind, requests, responses, code])).toEqual([
      ["unary", [ada], [hello("Ada")], "ok"],
      ["server_streaming", [{ names: ["Ada", "Bob"] }], [hello("Ada"), hello("Bob")], "ok"],
      ["client_streaming", [ada, bob], [hello("Ada and Bob")], "ok"],
      ["bidi_streaming", [ada, bob], [hello("Ada"), hello("Bob")], "ok"],
      [undefined, undefined, undefined, undefined],
    ]);
    expect(calls.at(-1)).toEqual(END);
  });

  it("has metadata, and masks credentials and the names that are given", async () => {
    const { client, lines } = record(
      { redact: ["X-Token", "greeting"] },
      {
        greet(_request, { responseHeaders, responseTrailers }) {
          responseHeaders.set("set-cookie", "a=b");
          responseTrailers.set("x-shard", "7");
          return { greeting: "secret" };
        },
      },
    );
    await client.greet({}, { headers: { authorization: "Bearer t", cookie: "c=1", "x-token": "t", "x-id": "i" } });
    const [{ headers, responseHeaders, trailers, responses }] = await lines();
    const masked = "[REDACTED]";
    expect(headers).toMatchObject({ authorization: masked, cookie: masked, "x-token": masked, "x-id": "i" });
    expect([responseHeaders, trailers, responses]).toEqual([
      { "set-cookie": masked },
      { "x-shard": "7" },
      [{ greeting: masked }],
    ]);
  });

  it("has the error of a call", async () => {
    const { client, lines } = record({}, { greet: () => Promise.reject(new RpcError(Code.NotFound, "no such name")) });
    await failureOf(client.greet({ name: "Ada" }));
    const [call] = await lines();
    expect(call).toMatchObject({ code: "not_found", message: "no such name", details: [], responses: [] });
    expect(call.durationMs).toBeGreaterThanOrEqual(0);
  });

  it("has no text of an error that is hidden from the caller", async () => {
    const { client, lines } = record({}, { greet: () => Promise.reject(new Error("password wrong")) });
    await failureOf(client.greet({ name: "Ada" }));
    expect(JSON.stringify(await lines())).not.toContain("password");
  });

  it("is also made by a client, and masks fields with debug_redact", async () => {
    const file = temporaryFile();
    const recorder = recordCalls({ file });
    const message = create(SecretSchema, { text: "open", secretText: "hidden" });
    const context = { signal: undefined, timeoutMs: () => undefined, values: {} as never };
    const [service, name, path] = ["secret.S", "M", "/secret.S/M"];
    const method: Method = { kind: "unary", service, name, path, input: SecretSchema, output: SecretSchema };
    const headers = new Metadata();
    const call = recorder(async () => ({ stream: false, message, headers, trailers: headers }));
    await call({ method, headers, selector: {}, context, stream: false, message: { secretNode: { text: "x" } } });
    await recorder.close();
    const [{ requests, responses }] = linesOf(file);
    const masked = "[REDACTED]";
    expect([requests, responses]).toEqual([[{ secretNode: masked }], [{ text: "open", secretText: masked }]]);
  });

  it("belongs to its owner alone, and is continued", async () => {
    const { lines, file } = record();
    await lines();
    expect(statSync(file).mode & 0o777).toBe(process.platform === "win32" ? 0o666 : 0o600);
    const second = record({}, {}, file);
    await second.client.greet({ name: "Ada" });
    expect((await second.lines()).map(({ end, code }) => end ?? code)).toEqual(["closed", "ok", "closed"]);
  });
});

describe("the limits of a recording", () => {
  it("leave out messages beyond 64 KiB or 1,000 of a call, and count them", async () => {
    const { client, lines } = record();
    await client.greet({ name: "a".repeat(65_000) });
    await client.greet({ name: "a".repeat(66_000) });
    await greetings(client.greetOnArrival(arriving(...Array.from({ length: 1_001 }, () => ""))));
    const [kept, large, many] = await lines();
    expect([kept.requests.length, kept.omitted]).toEqual([1, undefined]);
    expect([large.requests, large.responses, large.omitted]).toEqual([[], [], 2]);
    expect([many.requests.length, many.responses.length, many.omitted]).toEqual([1_000, 1_000, 2]);
  });

  it("end it at the size of its file, while calls go on", async () => {
    const { client, lines, file } = record({ maxFileBytes: 1_000 });
    for (let i = 0; i < 10; i++) await client.greet({ name: "Ada" });
    const found = await lines();
    expect(found.at(-1)).toEqual({ end: "full", dropped: 0 });
    expect(found.length).toBeLessThan(10);
    expect(statSync(file).size).toBeLessThan(1_050);
  });

  it("record so many calls in a second at most", async () => {
    const { client, lines } = record({ maxPerSecond: 3 });
    await Promise.all(Array.from({ length: 50 }, () => client.greet({ name: "Ada" })));
    const found = await lines();
    expect(found.length).toBeLessThan(50);
    expect(found.length).toBeGreaterThanOrEqual(4);
  });

  it("drop calls that the disk cannot take, and count them in the last line", async () => {
    // Nothing is written before the end.
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const { client, lines } = record({ maxPerSecond: Number.POSITIVE_INFINITY });
    const name = "a".repeat(60_000);
    await Promise.all(Array.from({ length: 100 }, () => client.greet({ name })));
    const found = await lines();
    const { end, dropped } = found.at(-1);
    expect([end, dropped + found.length - 1]).toEqual(["closed", 100]);
    expect(dropped).toBeGreaterThan(0);
  });
});

describe("a file that cannot be written", () => {
  it("is refused when the interceptor is created", () => {
    expect(() => recordCalls({ file: join(tmpdir(), "no such folder/calls.jsonl") })).toThrow(/ENOENT.*no such folder/);
  });

  it.runIf(process.platform === "linux")("ends the recording, but no call", async () => {
    const printed = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => printed.mockRestore());
    const { client, recorder } = record({}, {}, "/dev/full");
    for (let i = 0; i < 3; i++) {
      expect((await client.greet({ name: "a".repeat(40_000) })).greeting).toMatch(/^Hello/);
    }
    await vi.waitFor(() => expect(printed).toHaveBeenCalledOnce());
    expect(printed.mock.calls[0]?.[0]).toBe("triple-es: recording into /dev/full failed:");
    await recorder.close();
  });
});

it.each([
  [{}, "file must be the path of a file"],
  [{ file: "x", sample: 1 }, /there is no|is not among/],
  [{ file: "x", maxPerSecond: 0 }, "maxPerSecond must be more than 0, not 0"],
  [{ file: "x", maxFileBytes: "1 MB" }, 'maxFileBytes must be more than 0, not "1 MB"'],
  [{ file: "x", redact: "password" }, "redact must be an array, not a string"],
])("invalid options are refused: %j", (options, message) => {
  expect(() => recordCalls(options as never)).toThrow(message);
});
