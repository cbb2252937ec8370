/** A proxy that records whole calls of real peers over cleartext HTTP/2. */
import { once } from "node:events";
import { connect, createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";

/** One call. Bodies are in hex, with the prefixes of their messages. */
export interface RecordedCall {
  readonly path: string;
  readonly requestHeaders: Record<string, string>;
  readonly request: string;
  readonly responseHeaders: Record<string, string>;
  readonly response: string;
  readonly trailers: Record<string, string>;
}

export interface Recorder {
  readonly port: number;
  /** The completed calls, in the order in which they began. */
  readonly calls: readonly RecordedCall[];
  close(): Promise<void>;
}

/** Listens, and forwards everything to a server on the port. */
export async function startRecorder(targetPort: number): Promise<Recorder> {
  const calls: (RecordedCall | undefined)[] = [];
  const target = connect(`http://127.0.0.1:${targetPort}`);
  const server = createServer();
  server.on("stream", (stream, headers) => {
    record(stream, headers).catch(() => stream.close());
  });

  async function record(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    const index = calls.push(undefined) - 1;
    const request = await bytesOf(stream);
    const onward = target.request({ ...headers });
    let [responseHeaders, trailers]: IncomingHttpHeaders[] = [{}, {}];
    onward.on("response", (received) => {
      responseHeaders = received;
    });
    onward.on("trailers", (received) => {
      trailers = received;
    });
    onward.end(request);
    const response = await bytesOf(onward);
    calls[index] = {
      path: String(headers[":path"]),
      requestHeaders: fieldsOf(headers),
      request: request.toString("hex"),
      responseHeaders: fieldsOf(responseHeaders as IncomingHttpHeaders),
      response: response.toString("hex"),
      trailers: fieldsOf(trailers as IncomingHttpHeaders),
    };
    stream.on("wantTrailers", () => stream.sendTrailers({ ...trailers }));
    stream.respond({ ...responseHeaders }, { waitForTrailers: true });
    stream.end(response);
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    get calls() {
      return calls.filter((call) => call !== undefined);
    },
    async close() {
      target.destroy();
      server.close();
    },
  };
}

async function bytesOf(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Returns the fields without those of the connection, which do not depend on the call. */
function fieldsOf(headers: IncomingHttpHeaders): Record<string, string> {
  const fields = Object.entries(headers).filter(([name]) => name !== ":authority" && name !== "date");
  return Object.fromEntries(fields.map(([name, value]) => [name, String(value)]));
}
