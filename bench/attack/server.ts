/**
 * The server that is attacked, in a separate process.
 */
import { createServer } from "triple-es/node";
import { answerParent } from "../child.ts";
import { addServices, OPTIONS } from "./router.ts";
import { beginTurns, endTurns } from "./turn-times.ts";

const server = addServices(createServer(OPTIONS));
await server.listen({ port: 0, host: "127.0.0.1" });

answerParent({ port: () => server.address.port, beginTurns, endTurns });
