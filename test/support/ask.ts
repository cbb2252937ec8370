/** Plain HTTP requests over both versions, with Node's own clients. */
import { request as requestHttp1 } from "node:http";
import { connect } from "node:http2";

export const VERSIONS = ["HTTP/1.1", "HTTP/2"] as const;
export type Version = (typeof VERSIONS)[number];

interface Question {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

export interface Reply {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly bytes: Buffer;
  readonly text: string;
}

/** Sends one request on a separate connection, and reads its response. Rejects if the response is incomplete. */
export async function ask(version: Version, url: string, question: Question = {}): Promise<Reply> {
  const { status, headers, chunks } = await (version === "HTTP/2" ? askHttp2 : askHttp1)(new URL(url), question);
  const parts: Buffer[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  const bytes = Buffer.concat(parts);
  return { status, headers, bytes, text: bytes.toString() };
}

interface Opened extends Omit<Reply, "bytes" | "text"> {
  readonly chunks: AsyncIterable<Buffer>;
}

function askHttp1(url: URL, { method = "GET", headers = {}, body }: Question): Promise<Opened> {
  return new Promise((resolve, reject) => {
    const outgoing = requestHttp1(url, { method, headers, agent: false }, (incoming) => {
      resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, chunks: incoming });
    });
    outgoing.on("error", reject).end(body);
  });
}

function askHttp2({ origin, host, pathname, search }: URL, question: Question): Promise<Opened> {
  const { method = "GET", headers = {}, body } = question;
  return new Promise((resolve, reject) => {
    const session = connect(origin).on("error", reject);
    const fields = { ":method": method, ":path": pathname + search, ":authority": host, ...headers };
    const stream = session.request(fields, { endStream: body === undefined });
    stream.on("error", reject).on("close", () => session.close());
    stream.on("response", ({ ":status": status = 0, ...rest }) => {
      resolve({ status, headers: rest as Reply["headers"], chunks: wholly(stream) });
    });
    if (body !== undefined) stream.end(body);
  });
}

/** Reads a stream, and throws if it was reset, because Node ends such a stream like a complete one. */
async function* wholly(stream: AsyncIterable<Buffer> & { readonly rstCode?: number | undefined }) {
  yield* stream;
  if (stream.rstCode) throw new Error(`the stream was reset with code ${stream.rstCode}`);
}
