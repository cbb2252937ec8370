/** All bindings of an agent: gRPC, HTTP+JSON, and the agent card. */
import type { Router } from "triple-es";
import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AServiceDef } from "../../gen/lf/a2a/v1/a2a_triple.ts";
import type { Agent } from "./agent.ts";
import { addCard } from "./card.ts";
import { addHttpJson } from "./http-json.ts";
import { checkVersion, createA2aService } from "./service.ts";

/** Adds an agent to a server. Its one implementation answers both bindings. */
export function addAgent(server: Router, agent: Agent, card: AgentCard): void {
  const service = createA2aService(agent, card);
  const add = (router: Router) => router.add(A2AServiceDef, service, { interceptors: [checkVersion] });
  add(server);
  addHttpJson(server, add);
  addCard(server, card);
}
