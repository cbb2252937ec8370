/**
 * The client that h2specd tests: makes one exchange with the address it is given, reads what comes, whatever it is, and ends
 * after a while without an answer. Below the protocols, which would reset the stream of a response that is not gRPC's.
 */
import { Metadata } from "triple-es";
import { wholeBody } from "../../runtime/src/http/body.ts";
import { createConnector } from "../../runtime/src/node/client/connector.ts";

export async function exchange(baseUrl: string): Promise<void> {
  const connector = createConnector({
    baseUrl,
    httpVersion: "2",
    maxHeaderBytes: 65_536,
    tls: baseUrl.startsWith("https:") ? { rejectUnauthorized: false } : undefined,
  });
  const request = {
    method: "POST",
    path: "/",
    version: "2",
    headers: new Metadata({ "content-type": "text/plain" }),
    body: wholeBody(new TextEncoder().encode("Ada")),
    signal: AbortSignal.timeout(3_000),
  } as const;
  try {
    const { body } = await connector.exchange(request);
    await body.bytes(1024 * 1024);
    // Frames after the response are processed too.
    await new Promise((resolve) => setTimeout(resolve, 500));
  } catch {
    // Cases end connections and streams.
  }
  await connector.close();
}
