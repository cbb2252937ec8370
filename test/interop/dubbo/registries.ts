/**
 * Providers and consumers of Dubbo and ours, which find each other in a registry: `npm run interop:dubbo --
 * --registries`. Each cell counts the answers of each provider. In each registry:
 *
 *     mixed fleet       consumers of peers and of ours call providers of peers and of ours, at each level. The name of a
 *                       cell has the providers that must answer: some peers do not find all of the fleet
 *     rolling restart   a provider of ours is replaced while consumers of peers call, and no call fails
 *     admin             Dubbo Admin lists our services and consumers, and makes test calls
 *     rules             Dubbo Admin writes rules, and consumers of peers and of ours apply them
 *
 * No package of Dubbo Admin can be had: `Admin.java` makes the same calls of Dubbo's classes instead.
 */
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Registry } from "triple-es/discovery";
import { createServer, createTransport } from "triple-es/node";
import { register } from "triple-es-dubbo";
import { etcd } from "triple-es-dubbo/etcd";
import { nacos } from "triple-es-dubbo/nacos";
import { type Rules, rules } from "triple-es-dubbo/rules";
import { zookeeper } from "triple-es-dubbo/zookeeper";
import { hasEtcd, startEtcd } from "../../support/registries/etcd.ts";
import { hasNacos, startNacos } from "../../support/registries/nacos.ts";
import type { RegistryProcess } from "../../support/registries/process.ts";
import { hasZooKeeper, startZooKeeper } from "../../support/registries/zookeeper.ts";
import { unlessMissing } from "../peer.ts";
import { type Conversation, type Running, startConversation, startProgram } from "../program.ts";
import { APPLICATION, judgeByAdmin } from "./admin.ts";
import { type Admin, startAdmin } from "./admin-program.ts";
import { createPeerServiceClient, PeerServiceDef } from "./gen/interop/v1/peer_triple.ts";
import { governConsumers } from "./governance.ts";
import { goProgram } from "./peers/go.ts";
import { JAVA_VERSIONS, javaCommand } from "./peers/java.ts";
import {
  type Answers,
  type Consumer,
  type Provider,
  parseAnswers,
  type Restarted,
  restartRolling,
} from "./rolling-restart.ts";
import { createPeerService } from "./service.ts";

const LEVELS = ["instance", "interface"] as const;
type Level = (typeof LEVELS)[number];

interface RegistryKind {
  readonly name: string;
  readonly isInstalled: boolean;
  start(): Promise<RegistryProcess>;
  connect(address: string, levels: Level | "all", rules?: Rules): Registry;
}

const REGISTRIES: readonly RegistryKind[] = [
  {
    name: "zookeeper",
    isInstalled: hasZooKeeper,
    start: () => startZooKeeper(),
    connect: (address, levels, rules) => zookeeper({ servers: [address], levels, application: APPLICATION, rules }),
  },
  {
    name: "nacos",
    isInstalled: hasNacos,
    start: () => startNacos(),
    connect: (address, levels, rules) => nacos({ servers: [address], levels, application: APPLICATION, rules }),
  },
  {
    name: "etcd",
    isInstalled: hasEtcd,
    start: () => startEtcd(),
    connect: (address, levels) => etcd({ servers: [address], levels }),
  },
];

interface RegistryPeer {
  readonly name: "java" | "go";
  /** The registries that the peer supports. */
  readonly registries: readonly string[];
  /** The command of its program, with a folder for its files. */
  readonly command: (folder: string) => readonly string[];
}

/** Returns the peers that can run here. The others are printed as skipped. */
async function findPeers(): Promise<RegistryPeer[]> {
  const skipped: string[] = [];
  const java = await unlessMissing("Java 3.3", skipped, (): RegistryPeer => {
    const [program = "", ...args] = javaCommand(JAVA_VERSIONS[0], "RegistryMain");
    // Two JVMs must not share the folder of Dubbo's files.
    const command = (folder: string) => [program, `-Duser.home=${folder}`, ...args];
    return { name: "java", registries: ["zookeeper", "nacos"], command };
  });
  const go = await unlessMissing("dubbo-go", skipped, (): RegistryPeer => {
    const program = goProgram();
    const command = (folder: string) => {
      // nacos-sdk-go 2.2.5 keeps what it reads beside its program. A rule of an earlier run there, which the server does not have,
      // is asked for without a pause, and the change of another rule is lost between an answer and `isSyncWithServer = true`.
      const own = join(folder, "peer");
      symlinkSync(program, own);
      return ["env", "DUBBO_IP_TO_REGISTRY=127.0.0.1", `HOME=${folder}`, own];
    };
    return { name: "go", registries: ["zookeeper", "nacos", "etcd"], command };
  });
  for (const line of skipped) console.log(line);
  return [java, go].filter((peer) => peer !== undefined);
}

/** Counts and prints the outcomes of cells. */
class Verdicts {
  passed = 0;
  failed = 0;

  judge(cell: string, answers: Answers, isPassed: boolean): void {
    if (isPassed) this.passed++;
    else this.failed++;
    console.log(`${isPassed ? "passed" : "FAILED"}  ${cell}: ${JSON.stringify(answers)}`);
  }

  failure(cell: string, reason: unknown): void {
    this.failed++;
    console.log(`FAILED  ${cell}: ${reason instanceof Error ? reason.stack : reason}`);
  }
}

/** Runs all cells. Returns the number of failed ones; `undefined` if they cannot run here. */
export async function runRegistries(words: readonly string[]): Promise<number | undefined> {
  const peers = await findPeers();
  const verdicts = new Verdicts();
  for (const kind of REGISTRIES.filter(({ name }) => words.length === 0 || words.includes(name))) {
    if (!kind.isInstalled) {
      console.log(`SKIPPED ${kind.name}: it cannot be installed here`);
      continue;
    }
    for (const { name } of peers.filter(({ registries }) => !registries.includes(kind.name))) {
      console.log(`SKIPPED ${kind.name}, ${name}: Dubbo for Java 3.3 does not support this registry`);
    }
    const start = performance.now();
    await runRegistry(
      kind,
      peers.filter(({ registries }) => registries.includes(kind.name)),
      verdicts,
    );
    console.log(`${kind.name}: ${Math.round((performance.now() - start) / 1_000)} s`);
  }
  const { passed, failed } = verdicts;
  console.log(`${passed} passed, ${failed} failed`);
  return passed + failed === 0 ? undefined : failed;
}

async function runRegistry(kind: RegistryKind, peers: readonly RegistryPeer[], verdicts: Verdicts): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "triple-es-registries-"));
  const own = (): string => mkdtempSync(join(folder, "peer-"));
  const server = await kind.start();
  const url = `${kind.name}://${server.address}`;
  const registry = kind.connect(server.address, "all");
  const providers: Running[] = [];
  const consumers: { peer: RegistryPeer; level: Level; program: Conversation }[] = [];
  const startProvider = async ({ command }: RegistryPeer): Promise<void> => {
    providers.push(await startProgram((port) => [...command(own()), "provider", url, String(port)]));
  };
  let ours: Provider | undefined;
  let canary: Provider | undefined;
  let admin: Admin | undefined;
  try {
    // In etcd, dubbo-go cannot provide a service that another application already provides ("service-app mapping CAS
    // conflict"), and a consumer in Java does not call applications that provide the service later. In Nacos, dubbo-go
    // writes the first application of the mapping without compare-and-set. So each waits until the one before is found.
    for (const peer of peers) {
      await startProvider(peer);
      await listed(kind.connect(server.address, "instance"), providers.length);
    }
    ours = await startOurs(registry, "triple-es");
    // Over Nacos, a consumer in dubbo-go that started before ours was listed did not learn of it in 10 s.
    for (const level of LEVELS) await listed(kind.connect(server.address, level), providers.length + 1);
    const opened = peers.flatMap((peer) =>
      LEVELS.map(async (level) => {
        const program = await startConversation([...peer.command(own()), "consumer", url, level]);
        consumers.push({ peer, level, program });
      }),
    );
    for (const { reason } of (await Promise.allSettled(opened)).filter((one) => one.status === "rejected")) {
      verdicts.failure(`${kind.name}, a consumer of a peer`, reason);
    }
    const names = [...peers.map(({ name }) => name), "triple-es"].sort();
    for (const level of LEVELS) {
      const cell = `${kind.name}, we consume ${names.join(", ")}, ${level}`;
      try {
        const answers = await consumeByUs(kind.connect(server.address, level), names.length);
        verdicts.judge(cell, answers, isEven(answers, names));
      } catch (reason) {
        verdicts.failure(cell, reason);
      }
    }
    if (peers.some(({ name }) => name === "java")) {
      admin = await startAdmin([...javaCommand(JAVA_VERSIONS[0], "Admin"), url]);
      await judgeByAdmin(admin, kind.connect(server.address, "all"), (cell, judged) =>
        judged.then(
          (counts) => verdicts.judge(`${kind.name}, ${cell}`, counts, true),
          (reason: unknown) => verdicts.failure(`${kind.name}, ${cell}`, reason),
        ),
      );
    }
    // A consumer may not know all providers yet, and is asked again then: in Nacos, dubbo-go has needed more than 10 s.
    await Promise.all(
      consumers.map(async ({ peer, level, program }) => {
        const expected = names.filter((name) => isFound(name, peer.name, level));
        const cell = `${kind.name}, ${peer.name} consumes ${expected.join(", ")} of ${names.join(", ")}, ${level}`;
        const ask = async () => parseAnswers(await program.ask("200 0"));
        const isPassed = (answers: Answers): boolean =>
          expected.every((name) => (answers[name] ?? 0) > 0) && isWhole(answers, names);
        try {
          let answers = await ask();
          for (let left = 29; left > 0 && !isPassed(answers); left--) {
            await delay(1_000);
            answers = await ask();
          }
          verdicts.judge(cell, answers, isPassed(answers));
        } catch (reason) {
          verdicts.failure(cell, reason);
        }
      }),
    );

    if (kind.name === "etcd") {
      console.log(
        "SKIPPED etcd, rolling restart: dubbo-go 3.3 ignores deletions in etcd, and calls providers that are gone",
      );
      return;
    }
    let left: Consumer[] = consumers.map(({ peer, level, program }) => {
      const cell = `${kind.name}, ${peer.name} consumes ours through a rolling restart, ${level}`;
      return { peer: peer.name, cell, program };
    });
    const others = peers.map(({ name }) => name);
    for (let tries = 1; left.length > 0; tries++) {
      const start = () => startOurs(registry, `triple-es-${tries}`);
      const [replacement, outcomes] = await restartRolling({ consumers: left, others, old: ours, start });
      ours = replacement;
      left = judgeRestart(outcomes, tries, verdicts);
    }
    if (admin === undefined) return;
    canary = await startOurs(registry, "canary");
    await governConsumers({
      admin,
      consumers: consumers.map(({ peer, level, program }) => ({
        peer: peer.name,
        cell: `${kind.name}, ${peer.name}, ${level}`,
        program,
      })),
      connect: () => kind.connect(server.address, "all", rules({ application: APPLICATION })),
      canary,
      judge: (cell, answers, isPassed) => verdicts.judge(cell, answers, isPassed),
    }).catch((reason: unknown) => verdicts.failure(`${kind.name}, rules`, reason));
  } finally {
    await Promise.all([
      ...consumers.map(({ program }) => program.stop()),
      ...providers.map((provider) => provider.stop()),
      admin?.stop(),
    ]);
    await canary?.server.close({ graceMs: 0 });
    await ours?.server.close({ graceMs: 0 });
    await registry.close();
    await server.close();
    rmSync(folder, { recursive: true });
  }
}

/** Reports whether a provider gets calls of a consumer in the mixed fleet. */
function isFound(provider: string, consumer: RegistryPeer["name"], level: Level): boolean {
  // dubbo-go writes the weight 0. Its provider gets no calls beside others, except from its own consumers at the level of
  // applications, which do not read it.
  if (provider === "go") return consumer === "go" && level === "instance";
  // At that level, Java does not find its own provider of a service whose name in Java differs, even if it is the only one.
  return provider !== "java" || consumer !== "java" || level === "interface";
}

const isWhole = (answers: Answers, names: readonly string[]): boolean =>
  Object.keys(answers).every((name) => names.includes(name));

/** Reports whether each provider has answered its share of the calls, within 20 %: more than six standard deviations. */
function isEven(answers: Answers, names: readonly string[]): boolean {
  const share = Object.values(answers).reduce((sum, count) => sum + count, 0) / names.length;
  return isWhole(answers, names) && names.every((name) => Math.abs((answers[name] ?? 0) - share) <= 0.2 * share);
}

/** The maximum number of rolling restarts, for consumers with a known race. */
const MAX_RESTARTS = 4;

/** Judges the outcomes of a rolling restart. Returns the consumers to restart again for. */
function judgeRestart(outcomes: readonly Restarted[], tries: number, verdicts: Verdicts): Consumer[] {
  const again: Consumer[] = [];
  for (const { consumer, answers, problem, isKnownRace } of outcomes) {
    const cell = tries === 1 ? consumer.cell : `${consumer.cell}, at try ${tries}`;
    if (isKnownRace && tries < MAX_RESTARTS) {
      console.log(`again   ${cell}: ${problem}`);
      again.push(consumer);
    } else if (problem === undefined) verdicts.judge(cell, answers, true);
    else verdicts.failure(cell, `${problem}; ${JSON.stringify(answers)}`);
  }
  return again;
}

/** Starts a provider of ours that is registered at both levels. */
async function startOurs(registry: Registry, name: string): Promise<Provider> {
  const server = createServer().add(PeerServiceDef, createPeerService(name));
  await server.listen({ port: 0, host: "127.0.0.1" });
  await register(server, registry, { application: "peer-es", warmUp: false }).ready;
  return { name, server };
}

const CALLS = 3_000;

/** Waits until a registry lists as many providers as expected. If it does not in time, the cells that need them fail. */
async function listed(registry: Registry, expected: number): Promise<void> {
  const transport = createTransport({ registry, warmUpMs: 0, javaNames: true });
  const client = createPeerServiceClient(transport);
  const deadline = performance.now() + 20_000;
  try {
    while (transport.endpoints().length < expected && performance.now() < deadline) {
      await client.unary({ text: "x" }, { timeoutMs: 5_000 }).catch(() => {});
      await delay(50);
    }
  } finally {
    await transport.close();
    await registry.close();
  }
}

/** Calls all providers that the registry lists, which are as many as expected, one call after the other. */
async function consumeByUs(registry: Registry, expected: number): Promise<Answers> {
  const transport = createTransport({ registry, warmUpMs: 0, javaNames: true });
  const client = createPeerServiceClient(transport);
  const answers: Record<string, number> = {};
  try {
    await client.unary({ text: "x" }, { timeoutMs: 20_000 });
    // Endpoints are connected in the background.
    const deadline = performance.now() + 20_000;
    while (transport.endpoints().filter(({ state }) => state === "ready").length < expected) {
      if (performance.now() > deadline) break;
      await delay(20);
    }
    for (let calls = 0; calls < CALLS; calls++) {
      const { service } = await client.unary({ text: "x" }, { timeoutMs: 10_000 });
      answers[service] = (answers[service] ?? 0) + 1;
    }
  } finally {
    await transport.close();
    await registry.close();
  }
  return answers;
}
