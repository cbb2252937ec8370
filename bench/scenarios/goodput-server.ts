/** A server for `goodput.ts`: `goodput-server.ts ENTRANT`. Its handler computes for a time, waits for a slot, or does nothing. */
import { setTimeout as sleep } from "node:timers/promises";
import { Server, ServerCredentials, type ServiceDefinition } from "@grpc/grpc-js";
import { createServer } from "triple-es/node";
import { answerParent } from "../child.ts";
import { echoPath } from "../messages/echo.ts";
import { echoService } from "../messages/echo-service.ts";
import { EchoServiceDef } from "../messages/gen/echo_triple.ts";

const [entrant = "", work = ""] = (process.argv[2] ?? "").split(" ");
const SLOTS = 10;
const WAIT_MS = 20;
const COMPUTE_MS = 5;

/** Computes for a time of the CPU, which other processes of the machine do not shorten. */
function compute(): void {
  const micros = ({ user, system }: NodeJS.CpuUsage): number => user + system;
  const end = micros(process.cpuUsage()) + COMPUTE_MS * 1_000;
  while (micros(process.cpuUsage()) < end);
}

let free = SLOTS;
const waiting: (() => void)[] = [];

async function wait(): Promise<void> {
  if (free > 0) free--;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  await sleep(WAIT_MS);
  const next = waiting.shift();
  if (next === undefined) free++;
  else next();
}

/** Returns nothing if the work is done at once. */
function handle(): undefined | Promise<void> {
  if (work === "slots") return wait();
  if (work === "compute") compute();
  return undefined;
}

const limits = { maxStreams: 1_000, maxHandlers: 1_000 };

async function startTriple(shedLoad: boolean): Promise<number> {
  const server = createServer({ limits, shedLoad }).add(EchoServiceDef, {
    ...echoService,
    echo: (request) => handle()?.then(() => request) ?? request,
  });
  await server.listen({ port: 0, host: "127.0.0.1" });
  return server.address.port ?? 0;
}

function startGrpcJs(): Promise<number> {
  const asIs = (bytes: Buffer): Buffer => bytes;
  const method = { path: echoPath, requestStream: false, responseStream: false, requestDeserialize: asIs };
  const service = {
    Echo: { ...method, requestSerialize: asIs, responseSerialize: asIs, responseDeserialize: asIs },
  } satisfies ServiceDefinition;
  const server = new Server({ "grpc.max_concurrent_streams": limits.maxStreams });
  server.addService(service, {
    Echo: (call: { request: Buffer }, reply: (error: null, response: Buffer) => void) => {
      const done = (): void => reply(null, call.request);
      const waited = handle();
      if (waited === undefined) done();
      else void waited.then(done);
    },
  });
  return new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
}

const ports =
  entrant === "grpc-js"
    ? [await startGrpcJs()]
    : await Promise.all(
        (entrant === "triple-cost" ? [false, true, false] : [entrant === "triple-shed"]).map(startTriple),
      );
answerParent({ ports: () => ports });
