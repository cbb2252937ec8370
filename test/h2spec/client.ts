/**
 * The client that h2specd tests: makes one exchange with the address it is given, reads what comes, whatever it is, and ends
 * after a while without an answer. Below the protocols, which would reset the stream of a response that is not gRPC's, and
 * below the pool, which would connect again: h2specd judges each connection, and adds up in several threads without a lock.
 */
import { Metadata } from "triple-es";
import { WholeBody } from "../../runtime/src/http/body.ts";
import { connectHttp2 } from "../../runtime/src/node/client/http2.ts";

const TIMEOUT_MS = 3_000;

export async function exchange(baseUrl: string): Promise<void> {
  const origin = new URL(baseUrl);
  const tls = origin.protocol === "https:" ? { rejectUnauthorized: false } : undefined;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const target = { origin, socketPath: undefined, tls, peer: origin.host };
  const connection = await connectHttp2(target, TIMEOUT_MS)({ onUnusable() {} }, signal).catch(() => undefined);
  try {
    const response = await connection?.exchange({
      method: "POST",
      path: "/",
      version: "2",
      headers: new Metadata({ "content-type": "text/plain" }),
      body: new WholeBody(new TextEncoder().encode("Ada")),
      signal,
    });
    await response?.body.bytes(1024 * 1024);
    // Frames after the response are processed too.
    await new Promise((resolve) => setTimeout(resolve, 500));
  } catch {
    // Cases end connections and streams.
  }
  await connection?.close();
}
