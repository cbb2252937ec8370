/**
 * Time until the first call succeeds after a server was away: ours, `@grpc/grpc-js` and `@connectrpc/connect-node`, side by
 * side in one run. The server is stopped, and started again on the same port after the outage.
 *
 *     npm run bench:outage -- --seconds 30 --rounds 1 --host 127.0.0.1
 *
 * With an address of this machine that is none of its loopback interface, clients treat the server as one elsewhere.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { createServer, createTransport, type Server } from "triple-es/node";
import { echoPath, echoProto, echoRequest } from "../messages/echo.ts";
import { echoService } from "../messages/echo-service.ts";
import { EchoService } from "../messages/gen/echo_pb.ts";
import { createEchoServiceClient, EchoServiceDef } from "../messages/gen/echo_triple.ts";

/** Makes one call with a deadline. */
type Call = (timeoutMs: number) => Promise<unknown>;

/** Interval between the calls of a client whose calls fail at once, and the deadline of these calls. */
const POLL_MS = 100;
const FAST_DEADLINE_MS = 1_000;
/** The deadline of calls that wait for the server. */
const WAITING_DEADLINE_MS = 600_000;

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "30" },
    rounds: { type: "string", default: "1" },
    host: { type: "string", default: "127.0.0.1" },
  },
});
const outageMs = Number(values.seconds) * 1_000;

async function startServer(port: number): Promise<Server> {
  const server = createServer().add(EchoServiceDef, echoService);
  return server.listen({ port, host: values.host });
}

function triple(baseUrl: string, options: object): Call {
  const client = createEchoServiceClient(createTransport({ baseUrl, ...options }));
  return (timeoutMs) => client.echo(echoRequest, { timeoutMs });
}

function connect(baseUrl: string): Call {
  const client = createClient(EchoService, createGrpcTransport({ baseUrl }));
  return (timeoutMs) => client.echo(echoRequest, { timeoutMs });
}

function grpcJs(baseUrl: string, waitForReady: boolean): Call {
  const client = new Client(new URL(baseUrl).host, credentials.createInsecure());
  const metadata = new Metadata({ waitForReady });
  const asIs = (bytes: Buffer): Buffer => bytes;
  return (timeoutMs) =>
    new Promise((resolve, reject) => {
      const options = { deadline: Date.now() + timeoutMs };
      const answered = (error: Error | null, answer?: Buffer): void => (error ? reject(error) : resolve(answer));
      client.makeUnaryRequest(echoPath, asIs, asIs, Buffer.from(echoProto), metadata, options, answered);
    });
}

/** Repeats a call until the first success. */
async function untilSuccess(call: Call, deadlineMs: number): Promise<number> {
  for (;;) {
    try {
      await call(deadlineMs);
      return performance.now();
    } catch {
      await sleep(POLL_MS);
    }
  }
}

/** Stops the server, starts it again, and returns the time in seconds that each client needed after the restart. */
async function round(): Promise<Map<string, number>> {
  const server = await startServer(0);
  const { port } = server.address;
  const baseUrl = `http://${values.host}:${port}`;
  const entrants: [name: string, call: Call, deadlineMs: number][] = [
    ["triple-es, gRPC", triple(baseUrl, {}), FAST_DEADLINE_MS],
    ["triple-es, gRPC, waitForReady", triple(baseUrl, { waitForReady: true }), WAITING_DEADLINE_MS],
    ["triple-es, HTTP RPC over HTTP/1.1", triple(baseUrl, { protocol: "http-rpc" }), FAST_DEADLINE_MS],
    [
      "triple-es, HTTP RPC over HTTP/1.1, waitForReady",
      triple(baseUrl, { protocol: "http-rpc", waitForReady: true }),
      WAITING_DEADLINE_MS,
    ],
    ["grpc-js", grpcJs(baseUrl, false), FAST_DEADLINE_MS],
    ["grpc-js, waitForReady", grpcJs(baseUrl, true), WAITING_DEADLINE_MS],
    ["connect-node", connect(baseUrl), FAST_DEADLINE_MS],
  ];
  for (const [, call] of entrants) await call(FAST_DEADLINE_MS);
  await server.close({ graceMs: 0 });
  // Clients notice the lost connection before their next call, as in a program with pauses between calls.
  await sleep(POLL_MS);
  const succeeded = entrants.map(([, call, deadlineMs]) => untilSuccess(call, deadlineMs));
  await sleep(outageMs);
  const back = await startServer(port);
  const start = performance.now();
  const times = await Promise.all(succeeded);
  await back.close({ graceMs: 0 });
  return new Map(entrants.map(([name], index) => [name, ((times[index] ?? 0) - start) / 1_000]));
}

const rounds: Map<string, number>[] = [];
for (let i = 0; i < Number(values.rounds); i++) rounds.push(await round());
console.log(`seconds until the first success after ${values.seconds} s without a server at ${values.host}`);
for (const name of rounds[0]?.keys() ?? []) {
  console.log(`${name.padEnd(50)}${rounds.map((one) => one.get(name)?.toFixed(2).padStart(8)).join("")}`);
}
process.exit();
