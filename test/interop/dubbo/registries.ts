/**
 * Providers and consumers of Dubbo and ours, which find each other in a registry: `npm run interop:dubbo -- --registries`. Each
 * cell counts the answers of each provider.
 */
import { register } from "triple-es/discovery";
import { createServer, createTransport, type Server } from "triple-es/node";
import { zookeeper } from "triple-es/zookeeper";
import { hasZooKeeper, startZooKeeper } from "../../support/registries/zookeeper.ts";
import { runProgram, startProgram } from "../program.ts";
import { createPeerServiceClient, PeerServiceDef } from "./gen/interop/v1/peer_triple.ts";
import { JAVA_VERSIONS, javaCommand } from "./peers/java.ts";
import { createPeerService } from "./service.ts";

const CALLS = 200;
const LEVELS = ["instance", "interface"] as const;

type Answers = Readonly<Record<string, number>>;

/** Runs all cells. Returns the number of failed ones; `undefined` if they cannot run here. */
export async function runRegistries(): Promise<number | undefined> {
  if (!hasZooKeeper) {
    console.log("SKIPPED zookeeper: it cannot be installed here");
    return undefined;
  }
  const command = javaCommand(JAVA_VERSIONS[0], "RegistryMain");
  const problems: string[] = [];
  const judge = (cell: string, answers: Answers, expected: readonly string[]): void => {
    const share = CALLS / expected.length;
    // Random choice among two: the bound is more than six standard deviations.
    const isEven = expected.every(
      (name) => Math.abs((answers[name] ?? 0) - share) <= (expected.length - 1) * 0.45 * CALLS,
    );
    const isWhole = Object.keys(answers).sort().join() === [...expected].sort().join();
    const shown = JSON.stringify(answers);
    console.log(`${isEven && isWhole ? "passed" : "FAILED"}  zookeeper, ${cell}: ${shown}`);
    if (!isEven || !isWhole) problems.push(cell);
  };
  const consumeByJava = async (address: string, level: (typeof LEVELS)[number]): Promise<Answers> => {
    const word = level === "instance" ? "APPLICATION" : "INTERFACE";
    const output = await runProgram([...command, "consumer", `zookeeper://${address}`, word, String(CALLS)]);
    return Object.fromEntries(
      [...output.matchAll(/^answers (\S+) (\d+)$/gm)].map(([, name = "", count]) => [name, Number(count)]),
    );
  };

  for (const level of LEVELS) {
    const registryServer = await startZooKeeper();
    const registry = zookeeper({ servers: [registryServer.address], levels: level });
    try {
      const ours = await startOurs();
      const registration = register(ours, registry, {
        application: "peer-es",
        mode: level,
        warmUp: false,
        propagationMs: 0,
      });
      await registration.ready;
      judge(`Java consumes ours, ${level}`, await consumeByJava(registryServer.address, level), ["triple-es"]);
      await registration.close();

      const java = await startProgram(
        (port) => [...command, "provider", `zookeeper://${registryServer.address}`, String(port)],
        { ready: "ready" },
      );
      try {
        judge(`we consume Java's, ${level}`, await consumeByUs(registry), ["java"]);
        const again = register(ours, registry, {
          application: "peer-es",
          mode: level,
          warmUp: false,
          propagationMs: 0,
        });
        await again.ready;
        judge(`we consume both, ${level}`, await consumeByUs(registry), ["java", "triple-es"]);
      } finally {
        await java.stop();
        await ours.close({ graceMs: 1_000 });
      }
    } finally {
      await registry.close();
      await registryServer.close();
    }
  }
  console.log(`${3 * LEVELS.length - problems.length} passed, ${problems.length} failed`);
  return problems.length;
}

async function startOurs(): Promise<Server> {
  const server = createServer().add(PeerServiceDef, createPeerService("triple-es"));
  await server.listen({ port: 0, host: "127.0.0.1" });
  return server;
}

async function consumeByUs(registry: ReturnType<typeof zookeeper>): Promise<Answers> {
  // Without warm-up: a provider in Java that has just begun would get almost no calls.
  const transport = createTransport({ registry, warmUpMs: 0, javaNames: true });
  const client = createPeerServiceClient(transport);
  const answers: Record<string, number> = {};
  try {
    await client.unary({ text: "x" }, { timeoutMs: 20_000 });
    // Endpoints are connected in the background.
    const deadline = performance.now() + 10_000;
    while (transport.endpoints().some(({ state }) => state !== "ready") && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    for (let calls = 0; calls < CALLS; calls++) {
      const { service } = await client.unary({ text: "x" }, { timeoutMs: 10_000 });
      answers[service] = (answers[service] ?? 0) + 1;
    }
  } finally {
    await transport.close();
  }
  return answers;
}
