/** Records HTTP/2: accepts every stream on one side, records its headers, data and trailers, and forwards them. */
import { once } from "node:events";
import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { type Direction, line, type Recorder, showMessage } from "./recording.ts";

/** Starts a proxy for a server on this machine. */
export async function recordHttp2(port: number): Promise<Recorder> {
  let notes: string[] = [];
  const running = new Set<Promise<unknown>>();
  const sessions = new Set<ServerHttp2Session>();
  const upstream = connect(`http://127.0.0.1:${port}`);
  const server = createServer();
  server.on("session", (session) => sessions.add(session));
  server.on("stream", (stream, headers) => {
    const closed = once(stream, "close");
    running.add(closed);
    closed.finally(() => running.delete(closed));
    forward(stream, headers, upstream, (note) => notes.push(note));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async take() {
      await Promise.all(running);
      const taken = notes;
      notes = [];
      return taken;
    },
    async close() {
      upstream.destroy();
      for (const session of sessions) session.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

type Note = (note: string) => void;

function forward(stream: ServerHttp2Stream, request: IncomingHttpHeaders, to: ClientHttp2Session, note: Note): void {
  const path = String(request[":path"]);
  const upstream = to.request(request, { endStream: false });
  const up = new BodyNotes(path, String(request["content-type"]), "sent", note);
  let down: BodyNotes | undefined;
  let trailers: IncomingHttpHeaders | undefined;
  let reset = false;

  noteHeaders("sent", "HEADERS ", request, note);
  stream.on("data", (chunk: Buffer) => {
    up.add(chunk);
    upstream.write(chunk);
  });
  stream.on("end", () => {
    if (reset) return;
    up.end();
    upstream.end();
  });
  // A client that cancels a call resets its stream.
  stream.on("aborted", () => {
    reset = true;
    note(line("sent", `RST_STREAM ${stream.rstCode === constants.NGHTTP2_CANCEL ? "CANCEL" : stream.rstCode}`));
    upstream.close(stream.rstCode);
  });
  stream.on("error", () => {});
  upstream.on("error", () => {});

  upstream.on("response", (response, flags) => {
    if (stream.destroyed) return;
    const alone = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    noteHeaders("received", "HEADERS ", response, note);
    down = new BodyNotes(path, String(response["content-type"]), "received", note);
    stream.respond(response, alone ? { endStream: true } : { waitForTrailers: true });
  });
  upstream.on("data", (chunk: Buffer) => {
    down?.add(chunk);
    stream.write(chunk);
  });
  upstream.on("trailers", (fields) => {
    trailers = fields;
  });
  stream.on("wantTrailers", () => stream.sendTrailers(trailers ?? {}));
  upstream.on("end", () => {
    if (stream.destroyed) return;
    down?.end();
    if (trailers !== undefined) noteHeaders("received", "TRAILERS", trailers, note);
    stream.end();
  });
}

function noteHeaders(direction: Direction, kind: string, headers: IncomingHttpHeaders, note: Note): void {
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  for (const [index, field] of fields.entries()) note(line(direction, `${index === 0 ? kind : "        "}  ${field}`));
}

/**
 * Records a body: one message in sub-protocol A; in sub-protocol B any number of messages, each with a prefix of five
 * bytes.
 */
class BodyNotes {
  readonly #show: (message: Uint8Array) => string;
  readonly #direction: Direction;
  readonly #note: Note;
  readonly #enveloped: boolean;
  #pending: Buffer = Buffer.alloc(0);

  constructor(path: string, contentType: string, direction: Direction, note: Note) {
    this.#show = (message) => showMessage(message, contentType, path, direction);
    this.#direction = direction;
    this.#note = note;
    this.#enveloped = contentType.startsWith("application/grpc");
  }

  add(chunk: Buffer): void {
    this.#pending = Buffer.concat([this.#pending, chunk]);
    while (this.#enveloped && this.#pending.byteLength >= 5) {
      const end = 5 + this.#pending.readUInt32BE(1);
      if (this.#pending.byteLength < end) return;
      const prefix = this.#pending.toString("hex", 0, 5);
      this.#data(`${prefix} ${this.#show(this.#pending.subarray(5, end))}`);
      this.#pending = this.#pending.subarray(end);
    }
  }

  end(): void {
    if (!this.#enveloped && this.#pending.byteLength > 0) this.#data(this.#show(this.#pending));
  }

  #data(text: string): void {
    this.#note(line(this.#direction, `DATA      ${text}`));
  }
}
