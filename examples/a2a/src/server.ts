/** Serves the agent that sums invoices. SIGTERM closes it. */
import { createServer } from "triple-es/node";
import { addAgent } from "./agent-server.ts";
import { createCard } from "./card.ts";
import { sumInvoices } from "./invoices.ts";

const server = createServer();
await server.listen({ port: Number(process.env["PORT"] ?? 50051), host: "127.0.0.1" });
const host = `localhost:${server.address.port}`;
addAgent(server, sumInvoices, createCard(host));
console.log(`the agent is at http://${host}`);

process.once("SIGTERM", () => server.close({ graceMs: 5_000 }));
