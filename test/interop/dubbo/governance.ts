/**
 * Rules that Dubbo for Java writes to a registry with its own config center, in the words of Dubbo Admin. Consumers of peers
 * and of ours must apply them:
 *
 *     canary      a condition rule of v3.1 moves 10 % of the calls of all consumers to a canary
 *     disabled    dynamic configuration disables an instance
 *     tags        a tag rule of each application gives an instance a tag
 *
 * Peers take 11 % where the canary is the first destination: they compare a random number with weights by `<=`.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Registry } from "triple-es/discovery";
import { createTransport } from "triple-es/node";
import { type Conversation, startConversation } from "../program.ts";
import { createPeerServiceClient } from "./gen/interop/v1/peer_triple.ts";
import { type Answers, type Consumer, type Provider, parseAnswers } from "./rolling-restart.ts";

/** The name of the service in registries. */
const SERVICE = "com.example.interop.PeerService";
const APPLICATIONS = ["peer-java", "peer-go", "peer-es"];

/** Calls of a consumer of which the share of the canary is taken. */
const CALLS = 2_000;
/**
 * The bounds of this share: that of peers, 11 %, has a standard deviation of 0.7 % among so many calls, and the bounds are more than
 * six of them away. Without a rule it is a third or a half.
 */
const SHARE = { min: 0.055, max: 0.16 };

/** Time limit for consumers to apply a rule, in milliseconds. */
const NOTICE_MS = 30_000;

export interface Governed {
  /** The command of the program that writes rules, with the URL of the registry. */
  readonly command: readonly string[];
  readonly consumers: readonly Consumer[];
  /** Connects a consumer of ours to the registry, which applies rules. */
  readonly connect: () => Registry;
  readonly canary: Provider;
  readonly judge: (cell: string, answers: Answers, isPassed: boolean) => void;
}

/** Writes the rules one after another, and judges what each consumer does. */
export async function governConsumers({ command, consumers, connect, canary, judge }: Governed): Promise<void> {
  const { port } = canary.server.address;
  const writer = await startConversation(command);
  const registry = connect();
  const transport = createTransport({ registry, warmUpMs: 0, javaNames: true });
  const client = createPeerServiceClient(transport);
  const ours = async (calls: number, headers: Readonly<Record<string, string>> = {}): Promise<Answers> => {
    const answers: Record<string, number> = {};
    for (let left = calls; left > 0; left--) {
      const { service } = await client.unary({ text: "x" }, { headers, timeoutMs: 10_000 });
      answers[service] = (answers[service] ?? 0) + 1;
    }
    return answers;
  };
  const all = [
    ...consumers.map(({ cell, program }) => ({
      cell,
      ask: async (calls: number) => parseAnswers(await program.ask(`${calls} 0`)),
    })),
    { cell: "ours", ask: (calls: number) => ours(calls) },
  ];
  const isOnly = (answers: Answers): boolean => Object.keys(answers).join() === canary.name;
  const isWithout = (answers: Answers): boolean => !(canary.name in answers) && !hasFailed(answers);
  try {
    await Promise.all(
      all.map(async ({ cell, ask }) => {
        const answers = await until(
          () => ask(200),
          (seen) => canary.name in seen,
        );
        if (!(canary.name in answers)) judge(`${cell} finds the canary`, answers, false);
      }),
    );

    const conditions = `${SERVICE}::.condition-router`;
    const destinations = `{ match: "port=${port}", weight: 10 }, { match: "port!=${port}", weight: 90 }`;
    const from = '  - from: { match: "" }';
    await write(writer, conditions, rule("v3.1", ["conditions:", from, `    to: [${destinations}]`]));
    const isShare = (answers: Answers): boolean => {
      const share = (answers[canary.name] ?? 0) / CALLS;
      return share >= SHARE.min && share <= SHARE.max && !hasFailed(answers);
    };
    await Promise.all(
      all.map(async ({ cell, ask }) => {
        const answers = await until(() => ask(CALLS), isShare);
        judge(`${cell}: 10 % of the calls to a canary`, answers, isShare(answers));
      }),
    );
    await write(writer, conditions);

    const configurators = `${SERVICE}::.configurators`;
    const item = `{ side: consumer, addresses: ["0.0.0.0"], providerAddresses: ["127.0.0.1:${port}"], parameters: { disabled: true } }`;
    await write(writer, configurators, rule("v3.0", [`configs: [${item}]`]));
    const disabled = await timed(() => ours(200), isWithout);
    judge(`ours: an instance is disabled`, disabled, isWithout(disabled));
    await write(writer, configurators);
    // While the canary is disabled, the next rule would leave no endpoint.
    await until(
      () => ours(200),
      (seen) => canary.name in seen,
    );

    const tags = `tags: [{ name: gray, addresses: ["127.0.0.1:${port}"] }]`;
    for (const name of APPLICATIONS) await write(writer, `${name}.tag-router`, rule("v3.0", [tags]));
    const tagged = await timed(() => ours(200, { "dubbo.tag": "gray" }), isOnly);
    judge(`ours: a tag rule, with the tag`, tagged, isOnly(tagged));
    const untagged = await ours(200);
    judge(`ours: a tag rule, without a tag`, untagged, isWithout(untagged));
  } finally {
    await transport.close();
    await registry.close();
    await writer.stop();
  }
}

/** Makes the text of a rule as Dubbo Admin writes it. */
function rule(version: string, lines: readonly string[]): string {
  const head = [`configVersion: ${version}`, "scope: service", `key: ${SERVICE}`, "force: true", "enabled: true"];
  return `${[...head, "runtime: true", ...lines].join("\n")}\n`;
}

/** Writes a rule; without a text, removes it. */
async function write(writer: Conversation, key: string, text?: string): Promise<void> {
  const encoded = text === undefined ? "" : ` ${Buffer.from(text).toString("base64")}`;
  const problems = await writer.ask(key + encoded);
  if (problems.length > 0) throw new Error(problems.join("\n"));
}

/** Asks until the answers are accepted, or the time is over. Returns the last answers. */
async function until(ask: () => Promise<Answers>, isAccepted: (answers: Answers) => boolean): Promise<Answers> {
  const deadline = performance.now() + NOTICE_MS;
  for (;;) {
    const answers = await ask();
    if (isAccepted(answers) || performance.now() > deadline) return answers;
    await delay(20);
  }
}

/** As {@link until}, and prints how long it took. */
async function timed(ask: () => Promise<Answers>, isAccepted: (answers: Answers) => boolean): Promise<Answers> {
  const start = performance.now();
  const answers = await until(ask, isAccepted);
  console.log(`        applied and counted after ${Math.round(performance.now() - start)} ms`);
  return answers;
}

function hasFailed(answers: Answers): boolean {
  return Object.keys(answers).some((name) => name.startsWith("failed"));
}
