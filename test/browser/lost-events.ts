/**
 * Cuts the connections of event streams at random in each browser of this machine, and compares what `EventSource` receives:
 *
 *     npm run events [-- --connections 1000] [--browser chromium,firefox,webkit] [--seed N]
 *
 * Browsers are Debian's packages `chromium`, `firefox-esr`, and `webkit2gtk-driver` with `xvfb`. Each opens the page by itself,
 * which reports to the server. Exits with 1 if an event is lost, doubled or out of order, or if no browser is there.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer as createSocketServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type HandlerContext, nextEvent } from "triple-es";
import { createServer } from "triple-es/node";
import { addRest } from "triple-es/rest";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { createCallee } from "../platforms/callee.ts";
import { createRandom } from "../simulation/random.ts";

const { values } = parseArgs({
  options: {
    connections: { type: "string", default: "1000" },
    browser: { type: "string", default: "chromium,firefox,webkit" },
    seed: { type: "string", default: "1" },
  },
});
const wanted = Number(values.connections);
if (!(wanted > 0)) throw new TypeError(`--connections must be a number above 0, not ${values.connections}`);

/** Streams at a time. Each cut ends all of their connections. Browsers open six connections to a server. */
const STREAMS = 5;
/** The most events of all streams together between two cuts. */
const MAX_EVENTS = 100;
/** Time limit of a browser in milliseconds, which only a hang exceeds: Firefox waits for 500 ms before it connects again. */
const TIMEOUT_MS = 30 * 60_000;

const WEBKIT = "/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser";
const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const chromiumFlags = (folder: string): string[] => [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  `--user-data-dir=${folder}`,
];
const BROWSERS: Readonly<Record<string, { command: string; args: (folder: string) => string[] }>> = {
  chromium: { command: CHROMIUM, args: chromiumFlags },
  firefox: { command: "/usr/bin/firefox-esr", args: (folder) => ["--headless", "--no-remote", "--profile", folder] },
  webkit: { command: WEBKIT, args: () => [] },
};

/** The page: as many streams as it is asked for. It reports what each has received, in order. */
const PAGE = `<!doctype html><script>
const streams = Array.from({ length: ${STREAMS} }, (_, i) => new Promise((resolve) => {
  const received = [];
  const events = new EventSource("/events?names=" + i);
  events.onmessage = ({ data }) => received.push(JSON.parse(data).greeting);
  events.addEventListener("end", () => { events.close(); resolve(received); });
}));
Promise.all(streams).then((all) => fetch("/report", { method: "POST", body: JSON.stringify(all) }));
</script>`;

interface Outcome {
  readonly cut: number;
  readonly received: readonly (readonly string[])[];
  /** The number of events of each stream. */
  readonly events: number;
}

async function cutEvents(open: (url: string) => ChildProcess): Promise<Outcome> {
  const random = createRandom(Number(values.seed), "cuts");
  const sockets = new Set<Socket>();
  let isOver = false;
  let cut = 0;
  let events = 0;
  let untilCut = random.int(1, MAX_EVENTS);

  function cutAll(): void {
    for (const socket of sockets) socket.destroy();
    cut += sockets.size;
    isOver = cut >= wanted;
    sockets.clear();
    untilCut = random.int(1, MAX_EVENTS);
  }

  /** Numbers from the one after the last that the stream has received, until enough connections have been cut. */
  async function* numbers({ names: [name] = [] }: { names?: string[] }, { requestHeaders, values }: HandlerContext) {
    for (let i = Number(requestHeaders.get("last-event-id") ?? 0) + 1; !isOver || i <= events; i++) {
      events = Math.max(events, i);
      values.set(nextEvent, { id: String(i), retryMs: 1 });
      yield { greeting: `${name} ${i}` };
      if (!isOver && --untilCut < 0) cutAll();
      await new Promise(setImmediate);
      // The others connect again.
      while (!isOver && sockets.size < STREAMS) await pause(1);
    }
  }

  let report: (received: string[][]) => void = () => {};
  let fail: (reason: Error) => void = () => {};
  const reported = new Promise<string[][]>((resolve, reject) => {
    report = resolve;
    fail = reject;
  });
  async function fallback(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "POST") report(JSON.parse(await text(request)));
    response.setHeader("content-type", "text/html").end(PAGE);
  }
  const server = createServer({ fallback }).add(GreetServiceDef, { ...createCallee(), greetEach: numbers });
  addRest(server, { rules: [{ selector: "greet.v1.GreetService.GreetEach", get: "/events" }] });
  await server.listen({ port: 0, host: "127.0.0.1" });
  const proxy = createSocketServer((socket) => {
    const upstream = connect(server.address.port, "127.0.0.1");
    sockets.add(socket);
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      one.pipe(other);
      one.on("error", () => {}).on("close", () => other.destroy());
    }
    socket.on("close", () => sockets.delete(socket));
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  const browser = open(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}/`);
  const timeout = setTimeout(() => fail(new Error("the page has not reported in time")), TIMEOUT_MS);
  browser.on("exit", (code) => fail(new Error(`the browser has ended with ${code}`)));
  try {
    return { received: await reported, cut, events };
  } finally {
    clearTimeout(timeout);
    if (browser.pid !== undefined) process.kill(-browser.pid, "SIGKILL");
    await server.close({ graceMs: 0 });
    proxy.close();
  }
}

/** Reports the first difference between what each stream has received and its events. */
function problemOf({ received, events }: Outcome): string | undefined {
  for (const [stream, greetings] of received.entries()) {
    const expected = Array.from({ length: events }, (_, i) => `${stream} ${i + 1}`);
    const at = expected.findIndex((greeting, i) => greeting !== greetings[i]);
    if (at >= 0) return `stream ${stream}: "${greetings[at]}" instead of "${expected[at]}"`;
    if (greetings.length > events) return `stream ${stream}: ${greetings.length - events} events too many`;
  }
  return undefined;
}

let opened = 0;
for (const name of values.browser.split(",")) {
  const browser = BROWSERS[name];
  if (browser === undefined) throw new Error(`unknown browser ${name}; known are ${Object.keys(BROWSERS).join(", ")}`);
  if (!existsSync(browser.command)) {
    console.log(`${name}: skipped, there is no ${browser.command}`);
    continue;
  }
  opened++;
  const start = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "events-"));
  const outcome = await cutEvents((url) => open(browser, folder, url)).finally(() =>
    rmSync(folder, { recursive: true, force: true }),
  );
  const problem = problemOf(outcome);
  if (problem !== undefined) process.exitCode = 1;
  const seconds = ((performance.now() - start) / 1_000).toFixed(0);
  const { cut, received, events } = outcome;
  console.log(
    `${name}: ${cut} connections cut, ${received.length} streams of ${events} events in ${seconds} s: ${problem ?? "each received once, in order"}`,
  );
}
if (opened === 0) process.exitCode = 1;
process.exit();

/** Starts a browser in a process group of its own, without a screen. */
function open({ command, args }: (typeof BROWSERS)[string], folder: string, url: string): ChildProcess {
  const isWebkit = command === WEBKIT;
  const line = [...(isWebkit ? ["xvfb-run", "-a"] : []), command, ...args(folder), url] as const;
  const env = { ...process.env, HOME: folder };
  return spawn(line[0] as string, line.slice(1), { detached: true, stdio: "ignore", env });
}
