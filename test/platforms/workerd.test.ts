/**
 * The handler in workerd, the runtime of Cloudflare Workers. It tells a handler that its client has left when the
 * stream's next message is sent, and a unary call never, so that the calls that wait for this are replaced here. The
 * package is that of examples/workers.
 */
import { once } from "node:events";
import { Code } from "triple-es";
import { createTransport } from "triple-es/fetch";
import { createTransport as createNodeTransport } from "triple-es/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createGreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import { hasOpenssl, sharedCertificates } from "../support/certificate.ts";
import { isExampleInstalled } from "../support/examples.ts";
import { pause } from "../support/pause.ts";
import { connectGreeter, failureOf, greetings, openSocket, startServer } from "../support/server.ts";
import { type RunningWorker, startWorker } from "../support/workerd.ts";
import { type Calls, type CodecName, calls, EXPECTED } from "./calls.ts";

const WAIT_FOR_CANCELLATION: readonly (keyof Calls)[] = ["abort", "leave"];
const names = (Object.keys(EXPECTED) as (keyof Calls)[]).filter((name) => !WAIT_FOR_CANCELLATION.includes(name));

const OBJECTS = `
  bindings = [(name = "CALLEE", durableObjectNamespace = "Callee")],
  durableObjectNamespaces = [(className = "Callee", uniqueKey = "callee")],
  durableObjectStorage = (inMemory = void),
`;

describe.skipIf(!isExampleInstalled("workers"))("the handler in workerd", () => {
  let worker: RunningWorker;
  let baseUrl: string;

  beforeAll(async () => {
    worker = await startWorker("test/platforms/worker.ts", OBJECTS);
    baseUrl = `http://127.0.0.1:${worker.port}/rpc`;
  });

  afterAll(() => worker?.stop());

  describe.each<CodecName>(["json", "proto"])("in %s", (codec) => {
    it.each(names)("answers the call: %s", async (name) => {
      expect(await calls[name](baseUrl, codec)).toEqual(EXPECTED[name]);
    });
  });

  it("waits for a slow reader, and ends the handler of a stream when its reader leaves", async () => {
    const greeter = createGreetServiceClient(createTransport({ baseUrl }));
    const readState = async (): Promise<string> => (await greeter.greet({ name: "Flood" })).greeting;
    for await (const { greeting } of greeter.greetEach({ names: ["Flood"] }, { timeoutMs: 50_000 })) {
      expect(greeting).toHaveLength(16 * 1024);
      // The buffers on the way are full when the number of messages no longer changes.
      let before = "";
      for (let now = await readState(); now !== before; now = await readState()) {
        before = now;
        await pause(300);
      }
      expect(before).toMatch(/^runs \d+$/);
      break;
    }
    await expect.poll(readState, { timeout: 50_000 }).toMatch(/^ended/);
  });

  it("decodes more bytes than a turn of the event loop may, in requests whose callbacks it drops", async () => {
    const greeter = createGreetServiceClient(createTransport({ baseUrl: baseUrl.replace("/rpc", "/direct") }));
    const name = "a".repeat(60_000);
    for (let i = 0; i < 10; i++) expect((await greeter.greet({ name })).greeting).toContain(name);
  });

  it.each<[string, number, RequestInit]>([
    ["JSON", 200, { headers: { "content-type": "application/json" }, body: '[{"name":"Ada"}]' }],
    ["a form", 200, { headers: { "tri-protocol-version": "1.0.0" }, body: new URLSearchParams({ name: "Ada" }) }],
    ["XML", 200, { headers: { "content-type": "application/xml" }, body: "<request><name>Ada</name></request>" }],
    ["YAML", 415, { headers: { "content-type": "application/yaml" }, body: "name: Ada" }],
    ["a body that cannot be decoded", 400, { headers: { "content-type": "application/json" }, body: "[{" }],
  ])("answers %s with %d", async (_, status, init) => {
    const response = await fetch(`${baseUrl}/greet.v1.GreetService/Greet`, { method: "POST", ...init });
    expect(response.status).toBe(status);
    expect(await response.text()).toContain(status === 200 ? "Hello, Ada!" : '"message":');
  });
});

describe.skipIf(!isExampleInstalled("workers"))("the client on sockets in workerd", () => {
  let worker: RunningWorker;

  beforeAll(async () => {
    worker = await startWorker("test/platforms/socket-worker.ts", "", hasOpenssl ? [sharedCertificates().ca] : []);
  });

  afterAll(() => worker?.stop());

  /** Makes the call in a request of the worker, and returns what it got. */
  async function greet(to: string, name: string, timeoutMs = 10_000): Promise<unknown> {
    const query = new URLSearchParams({ to, name, timeoutMs: String(timeoutMs) });
    return (await fetch(`http://127.0.0.1:${worker.port}/?${query}`)).json();
  }

  it("makes calls of many requests at the same time, each with a transport of its own", async () => {
    const { baseUrl: url } = await startServer();
    const names = Array.from({ length: 50 }, (_, i) => `Ada ${i} ${"a".repeat(3_000)}`);
    const answers = await Promise.all(names.map((name) => greet(url, name)));
    expect(answers).toEqual(names.map((name) => ({ greeting: `Hello, ${name}!` })));
  });

  it("reports a deadline, and a server that cannot be reached", async () => {
    const { baseUrl: url } = await startServer({ greet: () => new Promise(() => {}) });
    expect(await greet(url, "Ada", 100)).toMatchObject({ code: "deadline_exceeded" });
    const { server, baseUrl: closed } = await startServer();
    await server.close();
    expect(await greet(closed, "Ada")).toMatchObject({ code: "unavailable" });
  });

  it.skipIf(!hasOpenssl)("speaks TLS without ALPN to a server of triple-es (needs openssl)", async () => {
    const { port } = await startServer({}, { tls: sharedCertificates().server });
    expect(await greet(`https://localhost:${port}`, "Ada")).toEqual({ greeting: "Hello, Ada!" });
  });
});

describe.skipIf(!isExampleInstalled("workers")).each([
  ["", ""],
  [" in a Durable Object that another Worker connects to", OBJECTS],
])("the server on sockets in workerd%s", (_, objects) => {
  let worker: RunningWorker;
  let baseUrl: string;

  beforeAll(async () => {
    worker = await startWorker("test/platforms/socket-worker.ts", objects);
    baseUrl = `http://127.0.0.1:${worker.tcpPort}`;
  });

  afterAll(() => worker?.stop());

  it("answers calls of all four kinds over gRPC, with large messages", async () => {
    const client = connectGreeter(baseUrl);
    async function* names() {
      yield { name: "Ann" };
      yield { name: "b".repeat(300_000) };
    }
    expect((await client.greet({ name: "Ann" })).greeting).toBe("Hello, Ann!");
    expect(await greetings(client.greetEach({ names: ["Ann", "Bob"] }))).toEqual(["Hello, Ann!", "Hello, Bob!"]);
    expect((await client.greetTogether(names())).greeting).toContain("Hello, Ann and bbb");
    expect((await greetings(client.greetOnArrival(names()))).map(({ length }) => length)).toEqual([11, 300_008]);
  });

  it("answers many calls and connections at the same time", async () => {
    const all = Array.from({ length: 20 }, () => connectGreeter(baseUrl));
    const answers = all.flatMap((client, i) =>
      Array.from({ length: 20 }, async (_, k) => (await client.greet({ name: `${i} ${k}` })).greeting),
    );
    expect(new Set(await Promise.all(answers)).size).toBe(400);
  });

  it("sends metadata, details and trailers", async () => {
    const client = connectGreeter(baseUrl);
    const seen: unknown[] = [];
    await client.greet(
      { name: "Ada" },
      {
        headers: { "x-echo": "from afar", "x-bytes-bin": Uint8Array.of(0, 254, 255) },
        onHeaders: (headers) => seen.push(headers.get("x-echo")),
        onTrailers: (trailers) => seen.push([...(trailers.getBinary("x-bytes-bin") ?? [])]),
      },
    );
    expect(seen).toEqual(EXPECTED.metadata);
    const { code, trailers } = await failureOf(client.greet({}));
    expect([code, trailers.get("x-why")]).toEqual([Code.NotFound, "no name"]);
  });

  it("ends calls at their deadlines, and those that are cancelled", async () => {
    const client = connectGreeter(baseUrl);
    expect(await failureOf(client.greet({ name: "Snail 1" }, { timeoutMs: 300 }))).toMatchObject({
      code: Code.DeadlineExceeded,
    });
    const controller = new AbortController();
    const cancelled = failureOf(client.greet({ name: "Snail 2" }, { signal: controller.signal }));
    await client.greet({ name: "Watcher 2" });
    controller.abort();
    expect((await cancelled).code).toBe(Code.Canceled);
    expect((await client.greet({ name: "Witness 2" })).greeting).toBe("canceled");
    for await (const _ of client.greetEach({ names: ["Snail 3"] })) break;
    expect((await client.greet({ name: "Witness 3" })).greeting).toBe("canceled");
  });

  it.skipIf(objects !== "")(
    "finishes a call of a server that closes, whose connection then takes no other",
    async () => {
      const closing = connectGreeter(baseUrl);
      async function* names() {
        yield { name: "Close" };
        yield { name: "Ann" };
      }
      expect(await greetings(closing.greetOnArrival(names()))).toEqual(["Hello, Close!", "Hello, Ann!"]);
      expect((await closing.greet({ name: "Bob" })).greeting).toBe("Hello, Bob!");
    },
  );

  it("ends the calls of a client that leaves", async () => {
    const leaving = createNodeTransport({ baseUrl });
    const gone = failureOf(createGreetServiceClient(leaving).greet({ name: "Snail 4" }));
    const staying = connectGreeter(baseUrl);
    await staying.greet({ name: "Watcher 4" });
    await leaving.close({ graceMs: 0 });
    await gone;
    expect((await staying.greet({ name: "Witness 4" })).greeting).toBe("canceled");
  });

  it.each(Object.keys(EXPECTED) as (keyof Calls)[])("answers the call over HTTP/1.1: %s", async (name) => {
    expect(await calls[name](baseUrl, "proto")).toEqual(EXPECTED[name]);
  });

  it("closes a connection without HTTP", async () => {
    const socket = await openSocket(worker.tcpPort);
    socket.resume().write("PRI * of something else\r\n\r\n");
    await once(socket, "close");
  });
});
