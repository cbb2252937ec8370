/**
 * A service on all cores of a machine: several processes behind one port (`node:cluster`).
 *
 *     node --conditions=triple-source --import tsx examples/cluster/main.ts [PORT [PROCESSES]]
 *
 * SIGHUP replaces the processes one by one, without losing a call; SIGTERM and SIGINT end the program gracefully.
 */
import cluster, { type Worker } from "node:cluster";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { createServer } from "triple-es/node";
import { greetService } from "../demo/service.ts";
import { GreetServiceDef } from "../gen/greet/v1/greet_triple.ts";

const [port = "50051", processes = String(availableParallelism())] = process.argv.slice(2);
const GRACE_MS = 10_000;

if (cluster.isPrimary) await supervise(Number(processes));
else await serve(Number(port));

/** Serves in one process until the primary process requests the end. */
async function serve(port: number): Promise<void> {
  const server = createServer().add(GreetServiceDef, {
    ...greetService,
    greet: ({ name }) => ({ greeting: `Hello, ${name}, from process ${process.pid}!` }),
  });
  await server.listen({ port });
  // A terminal sends its signals to all processes of the program, but the primary process decides when each one ends.
  for (const signal of ["SIGINT", "SIGHUP"]) process.on(signal, () => {});
  process.once("message", () => server.close({ graceMs: GRACE_MS }).then(() => process.disconnect()));
}

/** Starts the processes, and replaces those that end. */
async function supervise(count: number): Promise<void> {
  /** The processes that were stopped on request, which are not replaced. */
  const ending = new Set<Worker>();
  let last: Promise<void> = Promise.resolve();

  const start = async (): Promise<Worker> => {
    const worker = cluster.fork();
    await once(worker, "listening");
    return worker;
  };
  const end = async (worker: Worker): Promise<void> => {
    ending.add(worker);
    worker.send("end");
    await once(worker, "exit");
  };
  const all = (): Worker[] => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
  const replaceEach = async (): Promise<void> => {
    for (const old of all()) {
      await start();
      await end(old);
    }
    console.log("all processes are replaced");
  };

  cluster.on("exit", (worker, code, signal) => {
    if (ending.delete(worker)) return;
    console.error(`process ${worker.process.pid} ended with ${signal ?? code}; another one is started`);
    cluster.fork();
  });
  process.on("SIGHUP", () => {
    last = last.then(replaceEach);
  });
  for (const signal of ["SIGTERM", "SIGINT"]) {
    process.once(signal, () => {
      last.then(() => Promise.all(all().map(end))).then(() => process.exit());
    });
  }
  cluster.once("listening", (_, address) => console.log(`GreetService listens on localhost:${address.port}`));
  await Promise.all(Array.from({ length: count }, start));
  console.log(`${count} processes`);
}
