/** Health that clients watch (gRFC A17): our client and that of grpc-go, with two servers of grpc-go whose status changes. */
import { copyFileSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { RpcError } from "triple-es";
import { fixed } from "triple-es/discovery";
import { createTransport } from "triple-es/node";
import { freePort } from "../../../support/port.ts";
import { buildOnce, fetchStep, filesIn, step } from "../../dubbo/build.ts";
import { type Conversation, startConversation } from "../../program.ts";
import { createTestServiceClient } from "../gen/grpc/testing/test_triple.ts";

const SERVICE = "grpc.testing.TestService";
/** Calls of a client before its servers are compared with those that are expected. */
const CALLS = 20;
/** Tries until a change of a status has arrived, 20 ms apart. */
const TRIES = 250;
const UNAVAILABLE = 14;

/** The changes in turn: a server, its new status, and the servers that take calls then. No server was given a status before. */
const CHANGES: readonly (readonly [server: 0 | 1, status: string, takeCalls: readonly number[]])[] = [
  [0, "SERVING", [0]],
  [1, "SERVING", [0, 1]],
  [0, "NOT_SERVING", [1]],
  [1, "UNKNOWN", []],
  [0, "SERVING", [0]],
  [1, "SERVING", [0, 1]],
];

/** Makes calls, and returns the codes of their ends. */
type MakeCalls = () => Promise<readonly number[]>;

/** Builds grpc-go's program, once for every state of its sources. Returns its path. */
export function buildHealthProgram(): string {
  const sources = filesIn(fileURLToPath(new URL("health", import.meta.url)));
  const folder = buildOnce("grpc-go-health", sources, (building) => {
    for (const source of sources) copyFileSync(source, join(building, basename(source)));
    fetchStep(building, "go", ["mod", "download"]);
    step(building, "go", ["build", "-o", "health", "."]);
  });
  return join(folder, "health");
}

/** Runs the scenario. Throws if a client calls another server than one that is serving. */
export async function runHealth(program: string): Promise<void> {
  const ports = [await freePort(), await freePort()];
  const addresses = ports.map((port) => `127.0.0.1:${port}`);
  const servers = await Promise.all(ports.map((port) => startConversation([program, "server", `${port}`])));
  const serviceConfig = {
    loadBalancingConfig: [{ round_robin: {} }],
    healthCheckConfig: { serviceName: SERVICE },
  };
  const theirs = await startConversation([program, "client", JSON.stringify(serviceConfig), ...addresses]);
  const transport = createTransport({ resolver: fixed(addresses), serviceConfig });
  const client = createTestServiceClient(transport);
  const codeOf = (): Promise<number> =>
    client.emptyCall({}).then(
      () => 0,
      (error) => RpcError.from(error).code,
    );
  const clients: Readonly<Record<string, MakeCalls>> = {
    "triple-es": () => Promise.all(Array.from({ length: CALLS }, codeOf)),
    "grpc-go": async () => (await theirs.ask("calls")).join().trim().split(" ").map(Number),
  };
  try {
    for (const [name, makeCalls] of Object.entries(clients)) await expectCalls(name, makeCalls, servers, []);
    for (const [server, status, takeCalls] of CHANGES) {
      await servers[server]?.ask(status);
      for (const [name, makeCalls] of Object.entries(clients)) await expectCalls(name, makeCalls, servers, takeCalls);
    }
  } finally {
    await Promise.all([transport.close({ graceMs: 0 }), theirs.stop(), ...servers.map((server) => server.stop())]);
  }
}

/** Makes calls until all go to the expected servers; with none, until all are unavailable. */
async function expectCalls(
  client: string,
  makeCalls: MakeCalls,
  servers: readonly Conversation[],
  expected: readonly number[],
): Promise<void> {
  const count = () => Promise.all(servers.map(async (server) => Number((await server.ask("calls"))[0])));
  const code = expected.length === 0 ? UNAVAILABLE : 0;
  let seen = "";
  for (let tries = 0; tries < TRIES; tries++) {
    const before = await count();
    const codes = await makeCalls();
    const after = await count();
    const called = servers.map((_, index) => index).filter((index) => after[index] !== before[index]);
    seen = `servers ${called.join(" and ") || "none"}, codes ${[...new Set(codes)].join(", ")}`;
    if (codes.length === CALLS && codes.every((one) => one === code) && called.join() === expected.join()) return;
    await delay(20);
  }
  throw new Error(`${client} called ${seen}; expected: servers ${expected.join(" and ") || "none"}, code ${code}`);
}
