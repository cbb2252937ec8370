/** The agent card, at its well-known path (specification, sections 8.2 and 8.6). */
import { createHash } from "node:crypto";
import { create, toJsonString } from "@bufbuild/protobuf";
import { Metadata, type Router } from "triple-es";
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { bodyOf } from "./body.ts";

const PATH = "/.well-known/agent-card.json";

/** Creates the card of the agent for a host and port that serves gRPC and HTTP+JSON. */
export function createCard(host: string): AgentCard {
  return create(AgentCardSchema, {
    name: "Invoices",
    description: "Sums invoices",
    version: "1.0.0",
    supportedInterfaces: [
      { url: host, protocolBinding: "GRPC", protocolVersion: "1.0" },
      { url: `http://${host}`, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
    ],
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
    defaultInputModes: ["text/plain", "application/json"],
    defaultOutputModes: ["application/json"],
    skills: [
      {
        id: "sum",
        name: "Sum invoices",
        description: 'Sums invoices, which are data parts such as {"lines": [{"quantity": 3, "price": 4.5}]}',
        tags: ["invoices"],
      },
    ],
  });
}

/** Serves the card. */
export function addCard(server: Router, card: AgentCard): void {
  const bytes = new TextEncoder().encode(toJsonString(AgentCardSchema, card));
  const etag = `"${createHash("sha256").update(bytes).digest("base64url")}"`;
  const headers = new Metadata({ "content-type": "application/json", "cache-control": "max-age=300", etag });
  server.mount({
    path: PATH,
    serves: ({ method, path }) => method === "GET" && path === PATH,
    exchange: async (request) => {
      const isKnown = request.headers.get("if-none-match") === etag;
      return {
        status: isKnown ? 304 : 200,
        headers,
        body: isKnown ? bodyOf(new Uint8Array()) : bodyOf(bytes),
        trailers: new Metadata(),
      };
    },
  });
}
