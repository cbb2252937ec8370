/**
 * Load reports (gRFC A51, A58), per call and out of band: our client and that of grpc-go, with two servers of grpc-go, and with two of
 * ours. The first one has four times the weight of the second.
 */
import { setTimeout as delay } from "node:timers/promises";
import { fixed } from "triple-es/discovery";
import { addLoadReports } from "triple-es/health";
import { createServer, createTransport } from "triple-es/node";
import { freePort } from "../../../support/port.ts";
import { startConversation } from "../../program.ts";
import { createTestServiceClient, TestServiceDef } from "../gen/grpc/testing/test_triple.ts";

/** The loads that the servers report. */
const LOADS = [
  { applicationUtilization: 0.25, rpsFractional: 100 },
  { applicationUtilization: 0.5, rpsFractional: 50 },
];
/** The share of calls that the first one gets, and its tolerance. */
const SHARE = 0.8;
const TOLERANCE = 0.03;
/** Calls of a client before the shares are compared, in batches of those that grpc-go's client makes. */
const BATCHES = 5;
const BATCH = 20;
/** Tries until the weights are in use. */
const TRIES = 20;

interface Server {
  readonly address: string;
  readonly calls: () => Promise<number>;
  readonly stop: () => Promise<unknown>;
}

/** Runs the scenario. Throws if a client distributes calls in another way. */
export async function runLoad(program: string): Promise<void> {
  const kinds = { "triple-es": startOurs, "grpc-go": (load: (typeof LOADS)[0]) => startTheirs(program, load) };
  for (const [kind, start] of Object.entries(kinds)) {
    const servers = await Promise.all(LOADS.map(start));
    try {
      for (const enableOobLoadReport of [false, true]) {
        await expectShare(program, servers, enableOobLoadReport).catch((cause) => {
          throw new Error(`with servers of ${kind}${enableOobLoadReport ? " out of band" : ""}: ${cause.message}`, {
            cause,
          });
        });
      }
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
    }
  }
}

async function startOurs(load: (typeof LOADS)[0]): Promise<Server> {
  let calls = 0;
  const server = createServer();
  const reportLoad = addLoadReports(server, { report: () => load });
  const emptyCall = (): object => {
    calls++;
    return {};
  };
  server.add(TestServiceDef, { emptyCall } as never, { interceptors: [reportLoad] });
  await server.listen({ port: 0, host: "127.0.0.1" });
  const stop = () => server.close({ graceMs: 0 });
  return { address: `127.0.0.1:${server.address.port}`, calls: async () => calls, stop };
}

async function startTheirs(program: string, load: (typeof LOADS)[0]): Promise<Server> {
  const port = await freePort();
  const server = await startConversation([program, "server", `${port}`, ...Object.values(load).map(String)]);
  const calls = async (): Promise<number> => Number((await server.ask("calls"))[0]);
  return { address: `127.0.0.1:${port}`, calls, stop: () => server.stop() };
}

/** Makes calls with both clients until the first server gets its share. */
async function expectShare(program: string, servers: readonly Server[], enableOobLoadReport: boolean): Promise<void> {
  const addresses = servers.map(({ address }) => address);
  const policy = { blackoutPeriod: "0s", weightUpdatePeriod: "0.1s", enableOobLoadReport };
  const serviceConfig = { loadBalancingConfig: [{ weighted_round_robin: policy }] };
  const theirs = await startConversation([program, "client", JSON.stringify(serviceConfig), ...addresses]);
  const transport = createTransport({ resolver: fixed(addresses), serviceConfig });
  const client = createTestServiceClient(transport);
  const clients: Readonly<Record<string, () => Promise<unknown>>> = {
    "triple-es": () => Promise.all(Array.from({ length: BATCH }, () => client.emptyCall({}))),
    "grpc-go": () => theirs.ask("calls"),
  };
  const count = () => Promise.all(servers.map((server) => server.calls()));
  try {
    for (const [name, makeCalls] of Object.entries(clients)) {
      let seen = 0;
      for (let tries = 0; tries < TRIES && Math.abs(seen - SHARE) > TOLERANCE; tries++) {
        const [before = 0] = await count();
        for (let batch = 0; batch < BATCHES; batch++) await makeCalls();
        const [after = 0] = await count();
        seen = (after - before) / (BATCHES * BATCH);
        await delay(100);
      }
      if (Math.abs(seen - SHARE) > TOLERANCE) throw new Error(`${name} sent ${seen} of its calls to the first server`);
    }
  } finally {
    await Promise.all([transport.close({ graceMs: 0 }), theirs.stop()]);
  }
}
