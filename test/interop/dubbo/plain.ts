/** triple-es in the matrix of interfaces without proto files: the service on its server, and its client for the cases. */

import { type ClosableTransport, createServer, createTransport, type NodeTransportOptions } from "triple-es/node";
import { createHessian2 } from "triple-es-dubbo/hessian2";
import { addGenericCalls, createGenericClient } from "triple-es-dubbo/java";
import { type Credentials, failureOf, type Target } from "../peer.ts";
import type { Running } from "../program.ts";
import { AddressClass, createPlainServiceClient, PlainServiceDef } from "./gen/plain-service_triple.ts";
import { genericCallsOf } from "./generic-cases.ts";
import type { Outcomes } from "./matrix.ts";
import { clientTls } from "./peer.ts";
import { plainCaseNames, plainCases } from "./plain-cases.ts";
import { createPlainService } from "./plain-service.ts";

/** An address may arrive as an `Object`, whose class is not part of a signature. */
const hessian2 = createHessian2({ classes: [AddressClass] });

/** Time limit of a call. A longer call has failed. */
const CALL_TIMEOUT_MS = 10_000;

/** Starts the service on the server of triple-es. */
export async function startPlainServer(credentials: Credentials | undefined): Promise<Running> {
  const server = createServer({
    serializations: [hessian2],
    tls: credentials === undefined ? undefined : { cert: credentials.cert, key: credentials.key },
  });
  addGenericCalls(server);
  server.add(PlainServiceDef, createPlainService(), { bodies: ["multipart", "form", "text", "xml"] });
  await server.listen({ port: 0, host: "127.0.0.1" });
  return { port: server.address.port, stop: () => server.close({ graceMs: 0 }) };
}

type Options = Pick<NodeTransportOptions, "protocol" | "httpVersion" | "jsonBody" | "idleTimeoutMs">;

/** Runs the cases with the client of triple-es. Returns the error of each. */
export async function runPlainCases(target: Target, alpn: boolean, options: Options = {}): Promise<Outcomes> {
  const transport = open(target, alpn, options);
  const client = createPlainServiceClient(transport, { timeoutMs: CALL_TIMEOUT_MS });
  try {
    const outcomes = new Map<string, string | undefined>();
    for (const name of plainCaseNames) outcomes.set(name, await failureOf(plainCases[name](client)));
    return outcomes;
  } finally {
    await transport.close();
  }
}

/** Runs the cases of generic calls with the client of triple-es, without some. Returns the error of each. */
export async function runGenericCases(
  target: Target,
  alpn: boolean,
  without: readonly string[] = [],
): Promise<Outcomes> {
  const transport = open(target, alpn);
  const client = createGenericClient(transport, { timeoutMs: CALL_TIMEOUT_MS });
  try {
    const outcomes = new Map<string, string | undefined>();
    for (const [name, run] of genericCallsOf(client)) {
      if (!without.includes(name)) outcomes.set(name, await failureOf(run()));
    }
    return outcomes;
  } finally {
    await transport.close();
  }
}

function open({ port, credentials }: Target, alpn: boolean, options: Options = {}): ClosableTransport {
  return createTransport({
    baseUrl: `${credentials === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    serializations: [hessian2],
    tls: credentials === undefined ? undefined : clientTls(credentials, alpn),
    ...options,
  });
}
