/** Transports through tinyproxy (Debian package tinyproxy-bin), which asks for credentials and allows the ports of its list. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code } from "triple-es";
import { describe, expect, it, onTestFinished } from "vitest";
import { hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import { freePort, listening } from "../../support/port.ts";
import { arriving, connectGreeter, failureOf, greetings, startServer } from "../../support/server.ts";

const isInstalled = hasOpenssl && spawnSync("tinyproxy", ["-v"]).status === 0;
const CLIENTS = [
  { protocol: "grpc", httpVersion: "2" },
  { protocol: "http-rpc", httpVersion: "2" },
  { protocol: "http-rpc", httpVersion: "1.1" },
] as const;
const CREDENTIALS = "Ali:Sesame";

/** Starts tinyproxy, which connects to the ports. Returns its address. */
async function startTinyproxy(...ports: readonly number[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "triple-es-tinyproxy-"));
  const port = await freePort();
  const lines = [`Port ${port}`, "Listen 127.0.0.1", "Timeout 60", "MaxClients 100", "LogLevel Critical"];
  lines.push(`BasicAuth ${CREDENTIALS.replace(":", " ")}`, ...ports.map((one) => `ConnectPort ${one}`));
  writeFileSync(join(folder, "conf"), `${lines.join("\n")}\n`);
  const proxy = spawn("tinyproxy", ["-d", "-c", join(folder, "conf")], { stdio: "ignore" });
  onTestFinished(async () => {
    proxy.kill("SIGKILL");
    if (proxy.exitCode === null && proxy.signalCode === null) await once(proxy, "exit");
    rmSync(folder, { recursive: true });
  });
  await listening(proxy, port);
  return `127.0.0.1:${port}`;
}

describe.skipIf(!isInstalled)("tinyproxy (needs tinyproxy-bin and openssl)", () => {
  it.each(CLIENTS)("carries calls with TLS and without: $protocol over HTTP/$httpVersion", async (options) => {
    const { ca, server: identity } = sharedCertificates();
    const [plain, secure] = [await startServer(), await startServer({}, { tls: identity })];
    const proxy = `http://${CREDENTIALS}@${await startTinyproxy(plain.port, secure.port)}`;
    for (const [origin, more] of [
      [`http://localhost:${plain.port}`, {}],
      [`https://localhost:${secure.port}`, { tls: { ca } }],
    ] as const) {
      const greeter = connectGreeter(origin, { ...options, ...more, proxy });
      const names = Array.from({ length: 50 }, (_, i) => `Ada ${i}`);
      const answers = names.map(async (name) => (await greeter.greet({ name })).greeting);
      expect(await Promise.all(answers)).toEqual(names.map((name) => `Hello, ${name}!`));
      expect(await greetings(greeter.greetEach({ names: ["Ada"] }))).toEqual(["Hello, Ada!"]);
      if (options.protocol !== "grpc") continue;
      const long = "b".repeat(300_000);
      expect((await greetings(greeter.greetOnArrival(arriving("Ada", long))))[1]).toBe(`Hello, ${long}!`);
    }
  });

  it("refuses calls without credentials, with others, to other ports, and to a port on which nothing listens", async () => {
    const [{ port }, other, closed] = [await startServer(), await startServer(), await freePort()];
    const proxy = await startTinyproxy(port, closed);
    const refusals: string[] = [];
    for (const [credentials, to] of [
      ["", port],
      ["Ali:Baba@", port],
      [`${CREDENTIALS}@`, other.port],
      [`${CREDENTIALS}@`, closed],
    ] as const) {
      const greeter = connectGreeter(`http://localhost:${to}`, { proxy: `http://${credentials}${proxy}` });
      const { code, rawMessage } = await failureOf(greeter.greet({}));
      expect([code, rawMessage.includes("Baba")]).toEqual([Code.Unavailable, false]);
      refusals.push(/answered CONNECT with (\d+)/.exec(rawMessage)?.[1] ?? rawMessage);
    }
    expect(refusals).toEqual(["407", "401", "403", "500"]);
  });
});
