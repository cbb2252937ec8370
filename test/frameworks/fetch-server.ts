/** A server on `node:http` for a handler of `Request`, like the adapters of frameworks on `fetch`. */
import { createServer, type IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { listen } from "./host.ts";

/** Serves a handler over HTTP/1.1 until the end of the test. Returns the base URL. */
export function serveFetch(handle: (request: Request) => Response | Promise<Response>): Promise<string> {
  const server = createServer(async (incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.on("close", () => {
      if (!outgoing.writableEnded) gone.abort();
    });
    const response = await handle(toRequest(incoming, gone.signal));
    outgoing.writeHead(response.status, [...response.headers].flat());
    outgoing.flushHeaders();
    const reader = response.body?.getReader();
    // The response is cancelled when its client disconnects.
    outgoing.on("close", () => void reader?.cancel().catch(() => {}));
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true };
      if (done) break;
      outgoing.write(value);
    }
    outgoing.end();
  });
  return listen(server);
}

function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = "", url, headers, rawHeaders } = incoming;
  const fields = new Headers();
  for (let i = 0; i < rawHeaders.length; i += 2) fields.append(rawHeaders[i] as string, rawHeaders[i + 1] as string);
  const init: RequestInit & { duplex: "half" } = { method, headers: fields, signal, duplex: "half" };
  if (method !== "GET" && method !== "HEAD") init.body = Readable.toWeb(incoming) as ReadableStream;
  return new Request(`http://${headers.host}${url}`, init);
}
