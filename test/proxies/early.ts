/**
 * Early responses: HAProxy refuses uploads with 413 while they are sent, and closes HTTP/1.1 connections. The client must
 * report each refusal, and not the failure of its write (RFC 9112, section 9.5).
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, RpcError } from "triple-es";
import { createTransport, type NodeTransportOptions } from "triple-es/node";
import { createGreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import { startProgram } from "../interop/program.ts";
import { hasOpenssl, sharedCertificates } from "../support/certificate.ts";

const UPLOADS = 200;
const IN_FLIGHT = 10;
/** More than the buffers of a loopback connection hold, so that the response arrives while the client writes. */
const UPLOAD_BYTES = 8 * 1024 * 1024;

export interface EarlyOutcome {
  /** The version of HTTP. */
  readonly title: string;
  readonly uploads: number;
  readonly refused: number;
  /** Errors other than the refusal, with their numbers. */
  readonly others: ReadonlyMap<string, number>;
}

/** Sends uploads over each version of HTTP, in cleartext and over TLS. */
export async function uploadToHaproxy(): Promise<EarlyOutcome[]> {
  const folder = mkdtempSync(join(tmpdir(), "triple-es-early-"));
  const certificates = hasOpenssl ? sharedCertificates() : undefined;
  if (certificates !== undefined) {
    const { cert, key } = certificates.server;
    writeFileSync(join(folder, "server.pem"), cert + key);
  }
  const outcomes: EarlyOutcome[] = [];
  try {
    for (const [title, bind, scheme, httpVersion] of LISTENERS) {
      if (scheme === "https" && certificates === undefined) continue;
      const proxy = await startProgram((port) => {
        writeFileSync(join(folder, "conf"), configuration(port, bind.replace("PEM", join(folder, "server.pem"))));
        return ["haproxy", "-f", join(folder, "conf")];
      });
      const tls = scheme === "https" ? { tls: { ca: certificates?.ca as string } } : {};
      const baseUrl = `${scheme}://127.0.0.1:${proxy.port}`;
      outcomes.push(await upload(title, { baseUrl, protocol: "http-rpc", httpVersion, ...tls }));
      await proxy.stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return outcomes;
}

const LISTENERS = [
  ["HTTP/1.1", "", "http", "1.1"],
  ["HTTP/1.1 over TLS", "ssl crt PEM alpn http/1.1", "https", "1.1"],
  ["HTTP/2", "proto h2", "http", "2"],
  ["HTTP/2 over TLS", "ssl crt PEM alpn h2", "https", "2"],
] as const;

function configuration(port: number, bind: string): string {
  return `
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend in
  bind 127.0.0.1:${port} ${bind}
  http-request deny deny_status 413 content-type text/plain string "too large for this proxy"
`;
}

async function upload(title: string, options: NodeTransportOptions): Promise<EarlyOutcome> {
  const transport = createTransport(options);
  const client = createGreetServiceClient(transport, { timeoutMs: 60_000 });
  const message = { name: "x".repeat(UPLOAD_BYTES) };
  const others = new Map<string, number>();
  let [begun, refused] = [0, 0];
  const work = async (): Promise<void> => {
    while (begun++ < UPLOADS) {
      try {
        await client.greet(message);
        count(others, "no error");
      } catch (error) {
        const isRefusal = error instanceof RpcError && error.code === Code.ResourceExhausted;
        if (isRefusal && error.rawMessage.endsWith("HTTP status 413")) refused++;
        else count(others, String(error));
      }
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
  await transport.close();
  return { title, uploads: UPLOADS, refused, others };
}

function count(errors: Map<string, number>, text: string): void {
  errors.set(text, (errors.get(text) ?? 0) + 1);
}
