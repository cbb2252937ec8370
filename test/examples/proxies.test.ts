/**
 * The configurations of proxies in `examples/proxies`, which docs/deployment.md shows. `npm run proxies` makes calls
 * through both.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createWebSocketTransport } from "triple-es/fetch";
import { addHealth } from "triple-es/health";
import { createServer } from "triple-es/node";
import { afterAll, afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import { createGreetServiceClient, GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { nginxFolders } from "../proxies/proxy.ts";
import { ROOT } from "../support/documents.ts";
import { freePort, listening } from "../support/port.ts";
import { arriving, greeter, greetings } from "../support/server.ts";

const folder = mkdtempSync(join(tmpdir(), "proxies-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const configuration = (name: string): string => join(ROOT, "examples/proxies", name);
const isMissing = (program: string): boolean => spawnSync(program, ["-v"]).error !== undefined;

const checks = [
  {
    program: "nginx",
    arguments: ["-t", "-q", "-e", "stderr", "-c", configuration("nginx.conf"), "-g", `pid ${join(folder, "pid")};`],
  },
  { program: "haproxy", arguments: ["-c", "-q", "-f", configuration("haproxy.cfg")] },
];

describe("the configurations of proxies", () => {
  for (const { program, arguments: given } of checks) {
    const missing = isMissing(program);
    it.skipIf(missing)(`are valid for ${program}${missing ? ", which is missing" : ""}`, () => {
      const { status, stderr } = spawnSync(program, given, { encoding: "utf8" });
      expect({ status, stderr }).toMatchObject({ status: 0 });
    });
  }
});

describe("WebSockets pass", () => {
  // Node 20 has no WebSocket.
  afterEach(() => void vi.unstubAllGlobals());

  const nginx = (port: number, backend: number): string => `
    daemon off;
    pid ${join(folder, "websocket")};
    events {}
    http {
      access_log off;
      ${nginxFolders(folder)}
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_pass http://127.0.0.1:${backend};
          proxy_http_version 1.1;
          proxy_set_header Host $http_host;
          proxy_set_header Upgrade $http_upgrade;
          proxy_set_header Connection upgrade;
        }
      }
    }`;
  const haproxy = (port: number, backend: number): string =>
    readFileSync(configuration("haproxy.cfg"), "utf8")
      .replace("127.0.0.1:8080 proto h2", `127.0.0.1:${port}`)
      .replaceAll(/127\.0\.0\.1:5005[12]/g, `127.0.0.1:${backend}`);

  for (const { program, args, write } of [
    { program: "nginx", args: ["-e", "stderr", "-c"], write: nginx },
    { program: "haproxy", args: ["-db", "-f"], write: haproxy },
  ]) {
    it.skipIf(isMissing(program))(`${program}, as the page describes`, async () => {
      const server = createServer({ webSocket: true }).add(GreetServiceDef, greeter);
      addHealth(server, { probes: true });
      await server.listen({ port: 0, host: "127.0.0.1" });
      onTestFinished(() => server.close({ graceMs: 0 }));
      const port = await freePort();
      const file = join(folder, `${program}.conf`);
      writeFileSync(file, write(port, server.address.port));
      const proxy = spawn(program, [...args, file], { stdio: "ignore" });
      onTestFinished(async () => {
        proxy.kill();
        if (proxy.exitCode === null && proxy.signalCode === null) await once(proxy, "exit");
      });
      await listening(proxy, port);
      const origin = `http://127.0.0.1:${port}`;
      // Pages of the proxy's host are allowed, whose requests have its name.
      vi.stubGlobal(
        "WebSocket",
        class extends WebSocket {
          constructor(url: string, protocols: string) {
            super(url, protocols, { origin });
          }
        },
      );
      const transport = createWebSocketTransport({ baseUrl: origin });
      onTestFinished(() => transport.close({ graceMs: 0 }));
      const client = createGreetServiceClient(transport);
      expect(await greetings(client.greetOnArrival(arriving("Ada", "Bob")))).toEqual(["Hello, Ada!", "Hello, Bob!"]);
    });
  }
});
