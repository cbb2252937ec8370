/** The profiles `unary-grpc` and `json-comp` of HttpArena on one port, in one process for each CPU. */
import cluster from "node:cluster";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { createServer } from "triple-es/node";
import { addRest } from "triple-es/rest";
import { BenchmarkServiceDef } from "./gen/benchmark_triple.js";
import { ItemServiceDef } from "./gen/items_triple.js";

const { PORT = "8080", DATASET_PATH = "/data/dataset.json" } = process.env;
const processes = availableParallelism();

if (cluster.isPrimary && processes > 1) {
  for (let i = 0; i < processes; i++) cluster.fork();
} else {
  const dataset = JSON.parse(readFileSync(DATASET_PATH, "utf8"));
  const server = createServer()
    .add(BenchmarkServiceDef, { getSum: ({ a, b }) => ({ result: a + b }) })
    .add(ItemServiceDef, {
      list({ count, m }) {
        const items = dataset.slice(0, count).map((item) => ({ ...item, total: item.price * item.quantity * m }));
        return { items, count: items.length };
      },
    });
  addRest(server);
  await server.listen({ port: Number(PORT) });
}
