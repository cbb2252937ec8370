/**
 * nginx as a judge of requests. It passes what it has read to a server of this process, which describes each request in a field of
 * its response. A client sends an input and its end, and reads the responses until nginx closes the connection.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MissingPeer } from "../../interop/peer.ts";
import { installDebianPackages, outputOf, startProgram } from "../../interop/program.ts";
import { nginxFolders } from "../../proxies/proxy.ts";
import type { Judge } from "./judges.ts";
import type { Input } from "./messages.ts";
import type { Message, Verdict } from "./verdict.ts";

/** Inputs that nginx gets at the same time. */
const CONCURRENCY = 32;

/** Starts nginx, with a folder for its files. Throws {@link MissingPeer} if it is not installed and cannot be. */
export async function startNginx(): Promise<Judge> {
  installDebianPackages("nginx-light");
  const version = outputOf("nginx", "-v")?.match(/\d+\.\d+\.\d+/)?.[0];
  if (version === undefined) throw new MissingPeer("there is no nginx on the PATH (nginx-light)");
  const folder = mkdtempSync(join(tmpdir(), "triple-es-nginx-"));
  const server = createServer(describe).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: backend } = server.address() as AddressInfo;
  const nginx = await startProgram((port) => {
    writeFileSync(join(folder, "conf"), configuration(folder, port, backend));
    return ["nginx", "-p", folder, "-e", join(folder, "log"), "-c", join(folder, "conf")];
  });
  return {
    name: `nginx ${version}`,
    ask: (inputs) => askAll(nginx.port, inputs),
    stop: () => void stop(nginx, server, folder),
  };
}

async function stop(nginx: { stop(): Promise<void> }, server: Server, folder: string): Promise<void> {
  await nginx.stop();
  server.close();
  rmSync(folder, { recursive: true, force: true });
}

function configuration(folder: string, port: number, backend: number): string {
  return `
    daemon off;
    worker_processes 1;
    pid ${join(folder, "pid")};
    events { worker_connections 1024; }
    http {
      access_log off;
      keepalive_requests 1000000;
      client_max_body_size 0;
      lingering_timeout 1s;
      ignore_invalid_headers off;
      underscores_in_headers on;
      ${nginxFolders(folder)}
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_pass http://127.0.0.1:${backend};
          proxy_ignore_client_abort on;
          proxy_set_header X-Judge-Line "$server_protocol";
        }
      }
    }
  `;
}

/** Answers a request of nginx, which is of HTTP/1.0 with a content-length, by its description. */
function describe(socket: Socket): void {
  let text = "";
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
    const end = text.indexOf("\r\n\r\n");
    if (end < 0) return;
    const head = text.slice(0, end);
    const body = text.slice(end + 4);
    if (body.length < Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)) return;
    const [method = "", target = ""] = head.split(" ", 2);
    const minor = /\r\nx-judge-line: HTTP\/1\.(\d)/i.exec(head)?.[1] ?? "";
    const line = [method, target, minor];
    const message: Message = { line, fields: [], body, end: -1, isWhole: true };
    const description = Buffer.from(JSON.stringify(message)).toString("base64");
    socket.end(`HTTP/1.0 200 OK\r\nX-Judge: ${description}\r\nContent-Length: 0\r\n\r\n`);
  });
}

async function askAll(port: number, inputs: readonly Input[]): Promise<(Verdict | undefined)[]> {
  const verdicts: (Verdict | undefined)[] = inputs.map(() => undefined);
  const rest = inputs.entries();
  const work = async (): Promise<void> => {
    for (const [i, { role, text }] of rest) {
      if (role === "request") verdicts[i] = toVerdict(await exchange(port, Buffer.from(text, "latin1")));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return verdicts;
}

function exchange(port: number, bytes: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(port, "127.0.0.1", () => socket.end(bytes));
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      // nginx resets a connection with input that it has not read.
      if (error.code !== "ECONNRESET" && error.code !== "EPIPE") reject(error);
    });
    socket.on("close", () => resolve(text));
  });
}

/** Reads responses of nginx: a response without a description is its refusal. */
function toVerdict(responses: string): Verdict {
  const messages: Message[] = [];
  for (const [, status, head = ""] of responses.matchAll(/HTTP\/1\.1 (\d\d\d)[^\r]*\r\n((?:[^\r]+\r\n)*)\r\n/g)) {
    if (status === "100") continue;
    if (status === "502") throw new Error("nginx cannot reach its backend");
    const description = /^X-Judge: (\S+)/m.exec(head)?.[1];
    if (description === undefined) return { messages, isRefused: true, isProxied: true };
    messages.push(JSON.parse(Buffer.from(description, "base64").toString()) as Message);
  }
  return { messages, isRefused: false, isProxied: true };
}
