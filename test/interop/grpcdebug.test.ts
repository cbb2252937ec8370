/** Reads channelz and health of a server, and of a transport in the same process, with grpcdebug. */
import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Code, RpcError } from "triple-es";
import { addHealth } from "triple-es/health";
import { createTransport } from "triple-es/node";
import { addChannelz } from "triple-es/reflection";
import { describe, expect, it, onTestFinished } from "vitest";
import { createGreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import { hasOpenssl, sharedCertificates } from "../support/certificate.ts";
import { failureOf, startServer } from "../support/server.ts";

const cached = fileURLToPath(new URL("../../.ci/cache/bin/grpcdebug", import.meta.url));
const grpcdebug = existsSync(cached) ? cached : "grpcdebug";
const installed = hasOpenssl && spawnSync(grpcdebug, ["--help"]).status === 0;

/** Starts a server that shows itself and a transport to a second one, over which two calls have succeeded and one has failed. */
async function prepare() {
  const { ca, server: tls } = sharedCertificates();
  const backend = await startServer(
    {
      greet({ name }) {
        if (name === "2") throw new RpcError(Code.NotFound, "unknown name");
        return { greeting: name };
      },
    },
    { tls },
  );
  const transport = createTransport({ baseUrl: `https://localhost:${backend.port}`, tls: { ca } });
  onTestFinished(() => transport.close());
  const { server, port } = await startServer();
  addHealth(server);
  addChannelz(server, { servers: [server, backend.server], transports: [transport] });
  const client = createGreetServiceClient(transport);
  for (let call = 0; call < 3; call++) {
    const called = client.greet({ name: String(call) });
    await (call === 2 ? failureOf(called) : called);
  }
  /** Returns the cells of the lines that grpcdebug prints. */
  const run = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)(grpcdebug, [`127.0.0.1:${port}`, ...args], { timeout: 60_000 });
    return stdout
      .trim()
      .split("\n")
      .map((line) => line.split(/ {2,}|\t/).map((cell) => cell.trim()));
  };
  return { run, port, backend };
}

describe.skipIf(!installed)(
  "grpcdebug (needs grpcdebug: go install github.com/grpc-ecosystem/grpcdebug@v1.0.5)",
  () => {
    it("lists channels, and shows one with its endpoint and the connection to that", async () => {
      const { run, backend } = await prepare();
      const target = `localhost:${backend.port}`;
      const [head, channel] = await run("channelz", "channels");
      expect(head?.slice(0, 4)).toEqual(["Channel ID", "Target", "State", "Calls(Started/Succeeded/Failed)"]);
      const [id = "", ...data] = channel ?? [];
      expect(data).toEqual([target, "READY", "3/2/1", "now"]);
      const shown = await run("channelz", "channel", id);
      expect(shown).toContainEqual(["Calls Succeeded:", "2", ""]);
      const [subchannel = "", ...endpoint] = shown.at(-1) ?? [];
      expect(endpoint).toEqual([target, "READY", "3/3/0"]);
      const [socket = "", addresses, streams] = (await run("channelz", "subchannel", subchannel)).at(-1) ?? [];
      expect(addresses).toMatch(new RegExp(`^127\\.0\\.0\\.1:\\d+->127\\.0\\.0\\.1:${backend.port}$`));
      expect(streams).toBe("3/3/0");
      const lines = await run("channelz", "socket", socket);
      expect(lines).toContainEqual(["Address:", addresses, ""]);
      expect(lines).toContainEqual(["Security Model:", "TLS", ""]);
      expect(lines.at(-1)).toEqual(["Standard Name:", expect.stringMatching(/^TLS_/)]);
    });

    it("lists servers, and shows one with its connections", async () => {
      const { run, port, backend } = await prepare();
      const [, own, other] = await run("channelz", "servers");
      expect(own?.[1]).toBe(`[127.0.0.1:${port}]`);
      const [id = "", ...data] = other ?? [];
      expect(data).toEqual([`[127.0.0.1:${backend.port}]`, "3/2/1", "now"]);
      const shown = await run("channelz", "server", id);
      expect(shown).toContainEqual(["Calls Failed:", "1", ""]);
      const [, addresses, streams] = shown.at(-1) ?? [];
      expect(addresses).toMatch(new RegExp(`^127\\.0\\.0\\.1:${backend.port}->127\\.0\\.0\\.1:\\d+$`));
      expect(streams).toBe("3/3/0");
      expect((await run("channelz", "servers", "--max_results", "1")).length).toBe(2);
      expect(await run("channelz", "servers", "--start_id", "9")).toHaveLength(1);
    });

    it("shows the health of the server", async () => {
      const { run } = await prepare();
      expect(await run("health")).toEqual([["<Overall>:", "SERVING"]]);
    });
  },
);
