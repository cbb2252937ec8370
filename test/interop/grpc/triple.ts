/** triple-es in the matrix: the test service on its server, and the cases with its client. */
import { createServer, createTransport } from "triple-es/node";
import type { Credentials, Target } from "../peer.ts";
import type { Running } from "../program.ts";
import { type CaseName, cases } from "./cases.ts";
import {
  createTestServiceClient,
  createUnimplementedServiceClient,
  TestServiceDef,
  type TestServiceHandler,
} from "./gen/grpc/testing/test_triple.ts";
import { createTestService } from "./service.ts";
import { CompressionWatch } from "./watch.ts";

/** Maximum message size for the case with 10 MiB. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** Starts the test service on the server of triple-es. */
export async function startTripleServer(credentials: Credentials | undefined): Promise<Running> {
  const watch = new CompressionWatch();
  const server = createServer({
    codecs: [watch.codec],
    compressions: watch.compressions,
    compressMinBytes: 0,
    maxMessageBytes: MAX_MESSAGE_BYTES,
    tls: credentials === undefined ? undefined : { cert: credentials.cert, key: credentials.key },
  });
  server.add(TestServiceDef, createTestService(watch) as TestServiceHandler);
  await server.listen({ port: 0, host: "127.0.0.1" });
  return { port: server.address.port, stop: () => server.close({ graceMs: 0 }) };
}

/** Runs a case with the client of triple-es. */
export async function runTripleCase(name: CaseName, { port, credentials }: Target): Promise<void> {
  const watch = new CompressionWatch();
  const open = (compression?: string) =>
    createTransport({
      baseUrl: `${credentials === undefined ? "http" : "https"}://127.0.0.1:${port}`,
      codec: watch.codec,
      compressions: watch.compressions,
      compression,
      compressMinBytes: 0,
      tls: credentials === undefined ? undefined : { ca: credentials.ca, servername: credentials.servername },
    });
  const [plain, compressing] = [open(), open("gzip")];
  try {
    await cases[name]({
      client: createTestServiceClient(plain),
      compressing: createTestServiceClient(compressing),
      unimplemented: createUnimplementedServiceClient(plain),
      watch,
    });
  } finally {
    await Promise.all([plain.close(), compressing.close()]);
  }
}
