/** Server-sent events over sockets, and in the browser's `EventSource`. */
import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { type HandlerContext, nextEvent } from "triple-es";
import { createServer, type Server } from "triple-es/node";
import { addRest } from "triple-es/rest";
import { describe, expect, it, onTestFinished } from "vitest";
import { GreetServiceDef, type GreetServiceHandler } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { ask, VERSIONS } from "../../support/ask.ts";
import { EXECUTABLE, launchBrowser } from "../../support/chromium.ts";
import { cuttableProxy } from "../../support/cuttable-proxy.ts";
import { pause } from "../../support/pause.ts";
import { greeter, signalled } from "../../support/server.ts";

const PATH = "/greet.v1.GreetService/GreetEach";
const hasCurl = spawnSync("curl", ["--version"]).status === 0;
const RULE = { selector: "greet.v1.GreetService.GreetEach", get: "/events" };

async function serve(greetEach: GreetServiceHandler["greetEach"]): Promise<string> {
  const server: Server = createServer().add(GreetServiceDef, { ...greeter, greetEach });
  addRest(server, { rules: [RULE] });
  await server.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return `http://127.0.0.1:${server.address.port}`;
}

/** Numbers from the one after the last that the client has received. */
async function* numbers(
  limit: number,
  { requestHeaders, values }: HandlerContext,
): AsyncGenerator<{ greeting: string }> {
  for (let i = Number(requestHeaders.get("last-event-id") ?? 0) + 1; i <= limit; i++) {
    values.set(nextEvent, { id: String(i), retryMs: 1 });
    yield { greeting: `number ${i}` };
  }
}

describe.each(VERSIONS)("over %s", (version) => {
  it("a server stream is a stream of events", async () => {
    const url = await serve(greeter.greetEach);
    const headers = { "content-type": "application/json" };
    const called = await ask(version, url + PATH, { method: "POST", headers, body: '{"names":["Ada"]}' });
    const read = await ask(version, `${url}/events?names=Ada`);
    for (const reply of [called, read]) {
      expect([reply.status, reply.headers["content-type"], reply.text]).toEqual([
        200,
        "text/event-stream",
        'data: {"greeting":"Hello, Ada!"}\n\nevent: end\ndata:\n\n',
      ]);
    }
  });

  it("HEAD has the headers alone, and ends the handler", async () => {
    const left = signalled<boolean>();
    const url = await serve(async function* () {
      try {
        for (;;) yield { greeting: "again" };
      } finally {
        left.resolve(true);
      }
    });
    const { status, headers, text } = await ask(version, `${url}/events`, { method: "HEAD" });
    expect([status, headers["content-type"], text]).toEqual([200, "text/event-stream", ""]);
    expect(await left.promise).toBe(true);
  });
});

describe("a reader", () => {
  it("receives each event when it is sent, and ends the handler when it leaves", async () => {
    const left = signalled<boolean>();
    const url = await serve(async function* (_, { signal }) {
      signal.addEventListener("abort", () => left.resolve(true));
      yield { greeting: "one" };
      await left.promise;
    });
    const leaving = new AbortController();
    const { body } = await fetch(`${url}/events`, { signal: leaving.signal });
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    const { value } = await reader.read();
    expect(new TextDecoder().decode(value)).toBe('data: {"greeting":"one"}\n\n');
    leaving.abort();
    expect(await left.promise).toBe(true);
  });

  it("whose connection is cut 200 times receives all events once, by their ids", async () => {
    const url = await serve((_, context) => numbers(1_000, context));
    const received: string[] = [];
    let lastId = "";
    for (let cuts = 0; cuts <= 200; cuts++) {
      const leaving = new AbortController();
      const headers = lastId === "" ? {} : { "last-event-id": lastId };
      const { body } = await fetch(`${url}/events`, { headers, signal: leaving.signal });
      let text = "";
      // Cuts anywhere in an event. An event without its blank line is none.
      const cut = cuts < 200 ? 40 + ((cuts * 37) % 200) : Number.POSITIVE_INFINITY;
      for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
        text += new TextDecoder().decode(chunk);
        if (text.length >= cut) break;
      }
      leaving.abort();
      for (const event of text.slice(0, cut).split("\n\n").slice(0, -1)) {
        const [, id = "", data] = /^id: (\d+)\nretry: 1\ndata: (.*)$/.exec(event) ?? [];
        if (data === undefined) continue;
        lastId = id;
        received.push(JSON.parse(data).greeting);
      }
    }
    expect(received).toEqual(Array.from({ length: 1_000 }, (_, i) => `number ${i + 1}`));
  });
});

it.skipIf(!hasCurl)("curl -N shows the events of a call", async () => {
  const url = await serve(greeter.greetEach);
  const args = ["-sN", url + PATH, "--json", '{"names":["Ada"]}', "-H", "accept: */*"];
  const { stdout } = await promisify(execFile)("curl", args);
  expect(stdout).toBe('data: {"greeting":"Hello, Ada!"}\n\nevent: end\ndata:\n\n');
});

describe.skipIf(!existsSync(EXECUTABLE))("EventSource in Chromium", () => {
  it("receives all events once through lost connections, and closes at the last event", async () => {
    let calls = 0;
    const url = await serve(async function* (_, context) {
      calls++;
      let sent = 0;
      for await (const message of numbers(50, context)) {
        yield message;
        if (++sent !== 7) continue;
        // Events that have not arrived by then are sent again.
        await pause(30);
        proxy.cut();
      }
    });
    const proxy = await cuttableProxy(Number(new URL(url).port));
    const source = `http://${proxy.address}/events`;
    const browser = await launchBrowser();
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    // The document of an error, whose origin is the server.
    await page.goto(`http://${proxy.address}/`);
    const received = await page.evaluate(
      (source) =>
        new Promise<unknown>((resolve) => {
          const received: string[] = [];
          const events = new EventSource(source);
          events.addEventListener("message", ({ data }) => received.push(JSON.parse(data).greeting));
          events.addEventListener("end", () => {
            events.close();
            resolve(received);
          });
        }),
      source,
    );
    expect(received).toEqual(Array.from({ length: 50 }, (_, i) => `number ${i + 1}`));
    expect(calls).toBeGreaterThan(3);
  });
});
