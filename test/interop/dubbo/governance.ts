/**
 * Rules that Dubbo Admin writes to a registry. Consumers of peers and of ours must apply them:
 *
 *     canary      a condition rule of v3.1 moves 10 % of the calls of all consumers to a canary
 *     disabled    dynamic configuration disables an instance, and enables it again
 *     tags        a tag rule of each application gives an instance a tag
 *
 * Peers take 11 % where the canary is the first destination: they compare a random number with weights by `<=`.
 */
import type { Registry } from "triple-es/discovery";
import { createTransport } from "triple-es/node";
import { type Admin, until } from "./admin-program.ts";
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

const RULE = { scope: "service", key: SERVICE, force: true, enabled: true, priority: 0, runtime: true };

export interface Governed {
  /** Writes the rules. */
  readonly admin: Admin;
  readonly consumers: readonly Consumer[];
  /** Connects a consumer of ours to the registry, which applies rules. */
  readonly connect: () => Registry;
  readonly canary: Provider;
  readonly judge: (cell: string, answers: Answers, isPassed: boolean) => void;
}

/** Writes the rules one after another, and judges what each consumer does. */
export async function governConsumers({ admin, consumers, connect, canary, judge }: Governed): Promise<void> {
  const { port } = canary.server.address;
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
      ask: async (calls: number) => {
        // Each request has its own time limit.
        const lines: string[] = [];
        for (let left = calls; left > 0; left -= 200) lines.push(...(await program.ask("200 0")));
        return parseAnswers(lines);
      },
    })),
    { cell: "ours", ask: (calls: number) => ours(calls) },
  ];
  const isOnly = (answers: Answers): boolean => Object.keys(answers).join() === canary.name;
  const isWith = (answers: Answers): boolean => canary.name in answers && !hasFailed(answers);
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

    // ZooKeeper removes their parent a minute after the last rule: a consumer in Java has made it a container. Dubbo's client
    // does not make it again, so later writes fail.
    await admin.ask("rule", "unused.tag-router", { enabled: false });

    const conditions = `${SERVICE}::.condition-router`;
    const to = [
      { match: `port=${port}`, weight: 10 },
      { match: `port!=${port}`, weight: 90 },
    ];
    await admin.ask("rule", conditions, { ...RULE, configVersion: "v3.1", conditions: [{ from: { match: "" }, to }] });
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
    await admin.ask("rule", conditions, null);
    // With this rule one of 67 batches has no canary by chance, which would count as disabled.
    await until(
      () => ours(CALLS),
      (answers) => (answers[canary.name] ?? 0) / CALLS > SHARE.max,
    );

    const configurators = `${SERVICE}::.configurators`;
    const item = { side: "consumer", addresses: ["0.0.0.0"], providerAddresses: [`127.0.0.1:${port}`] };
    // Admin writes `enabled: false` unless its user says otherwise. Consumers read it in an item with a type only.
    const configs = [{ ...item, enabled: false, parameters: { disabled: true } }];
    const override = { configVersion: "v2.7", scope: "service", key: SERVICE, configs };
    const old = `override://0.0.0.0/${SERVICE}?category=configurators&compatible_config=true&disabled=true&dynamic=false`;
    for (const enabled of [true, false]) {
      await admin.ask("rule", configurators, { ...override, enabled });
      const start = performance.now();
      await admin.ask("unregister", `${old}&enabled=${!enabled}`);
      await admin.ask("register", `${old}&enabled=${enabled}`);
      const isApplied = enabled ? isWithout : isWith;
      const answers = await timed(start, (calls) => ours(calls), isApplied);
      judge(`ours: an instance is ${enabled ? "disabled" : "enabled"}`, answers, isApplied(answers));
    }
    await admin.ask("rule", configurators, null);
    await admin.ask("unregister", `${old}&enabled=false`);

    const tags = [{ name: "gray", addresses: [`127.0.0.1:${port}`] }];
    for (const key of APPLICATIONS) {
      const rule = { enabled: true, force: true, key, priority: 0, runtime: false, tags };
      await admin.ask("rule", `${key}.tag-router`, rule);
    }
    const tagged = await timed(performance.now(), (calls) => ours(calls, { "dubbo.tag": "gray" }), isOnly);
    judge(`ours: a tag rule, with the tag`, tagged, isOnly(tagged));
    const untagged = await ours(200);
    judge(`ours: a tag rule, without a tag`, untagged, isWithout(untagged));
  } finally {
    await transport.close();
    await registry.close();
  }
}

/** Calls in small batches until the answers are accepted, and prints when that one began. Returns the answers to 200 more calls. */
async function timed(
  start: number,
  ask: (calls: number) => Promise<Answers>,
  isAccepted: (answers: Answers) => boolean,
): Promise<Answers> {
  let began = start;
  await until(() => {
    began = performance.now();
    return ask(40);
  }, isAccepted);
  console.log(`        applied after ${Math.round(began - start)} ms`);
  return ask(200);
}

function hasFailed(answers: Answers): boolean {
  return Object.keys(answers).some((name) => name.startsWith("failed"));
}
