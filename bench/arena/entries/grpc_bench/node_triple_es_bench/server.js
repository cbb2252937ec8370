/** The service of grpc_bench, in one process for each CPU. */
import cluster from "node:cluster";
import { availableParallelism } from "node:os";
import { createServer } from "triple-es/node";
import { GreeterDef } from "./gen/helloworld/helloworld_triple.js";

const { PORT = "50051", GRPC_SERVER_CPUS } = process.env;
const processes = Number(GRPC_SERVER_CPUS ?? availableParallelism());

if (cluster.isPrimary && processes > 1) {
  for (let i = 0; i < processes; i++) cluster.fork();
} else {
  await createServer()
    .add(GreeterDef, { sayHello: ({ request }) => ({ response: request }) })
    .listen({ port: Number(PORT) });
}
