/**
 * Requests to the API server of Kubernetes. `fetch` of Node cannot be given a certificate authority, and that of a cluster is
 * its own, so that `node:https` sends them.
 */
import { readFile } from "node:fs/promises";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { Code } from "../../call/code.ts";
import { RpcError } from "../../call/error.ts";

const NEWLINE = 0x0a;

/** The address and credentials of the API server. */
export interface KubernetesApi {
  /** The URL of the API server. Default: that of pods, in `KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT`. */
  readonly server?: string | undefined;
  /**
   * Returns the bearer token. It is called for each request, because tokens of service accounts expire. Default: the token
   * file of the pod's service account.
   */
  readonly token?: (() => string | undefined | Promise<string | undefined>) | undefined;
  /** The certificates of the authorities of the server's certificate, as PEM. Default: those of the pod's service account. */
  readonly ca?: string | Buffer | undefined;
}

export const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
/** TCP keepalive, in milliseconds: a watch without events does not notice otherwise that its server is gone. */
const TCP_KEEPALIVE_MS = 30_000;
/** The time for the head of a response, in milliseconds. */
const RESPONSE_MS = 10_000;
/** The longest line or list that is read, in bytes. A slice has at most 1,000 endpoints, about 400 kB. */
const MAX_JSON_BYTES = 64 * 1024 * 1024;

/**
 * Sends a GET request. Resolves with the response if its status is 200, or with "gone" for 410 (the requested version is no
 * longer kept); otherwise throws an `unavailable` error that names the cause.
 */
export async function get(api: KubernetesApi, path: string, signal: AbortSignal): Promise<IncomingMessage | "gone"> {
  const url = new URL(path, serverOf(api));
  const token = await (api.token ?? podToken)();
  const ca = url.protocol === "https:" ? (api.ca ?? (await podCertificates())) : undefined;
  const send = url.protocol === "https:" ? requestHttps : requestHttp;
  const headers = { accept: "application/json", ...(token && { authorization: `Bearer ${token.trim()}` }) };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = send(url, { headers, signal, agent: false, ...(ca && { ca }) }, (head) => {
      request.setTimeout(0);
      resolve(head);
    });
    const refused = (cause: Error): void =>
      reject(
        new RpcError(Code.Unavailable, `no response from the Kubernetes API at ${url.origin}: ${cause.message}`, {
          cause,
        }),
      );
    request.on("error", refused);
    request.on("socket", (socket) => socket.setKeepAlive(true, TCP_KEEPALIVE_MS));
    request.setTimeout(RESPONSE_MS, () => request.destroy(new Error(`no response within ${RESPONSE_MS / 1_000} s`)));
    request.end();
  });
  if (response.statusCode === 200) return response;
  if (response.statusCode !== 410) throw await failureOf(response);
  response.destroy();
  return "gone";
}

function serverOf({ server }: KubernetesApi): string {
  if (server !== undefined) return server;
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
  if (host) return `https://${host.includes(":") ? `[${host}]` : host}:${port || 443}`;
  throw new RpcError(Code.Unavailable, "this process runs outside a pod: the options server and token are required");
}

const podToken = (): Promise<string | undefined> => readFile(`${SERVICE_ACCOUNT}/token`, "utf8").catch(() => undefined);

const podCertificates = (): Promise<Buffer | undefined> => readFile(`${SERVICE_ACCOUNT}/ca.crt`).catch(() => undefined);

/** The error for a response that is not 200. Its body is a `Status` object with a message. */
async function failureOf(response: IncomingMessage): Promise<RpcError> {
  const { statusCode } = response;
  const body = await readJsonBody(response).catch(() => undefined);
  const detail = (body as { readonly message?: unknown } | undefined)?.message;
  const hint =
    statusCode === 401 || statusCode === 403
      ? " (the service account needs the verbs list and watch on endpointslices of discovery.k8s.io)"
      : "";
  return new RpcError(
    Code.Unavailable,
    `the Kubernetes API answered with ${statusCode}${typeof detail === "string" ? `: ${detail.slice(0, 300)}` : ""}${hint}`,
  );
}

/** Reads a whole body as JSON. */
export async function readJsonBody(response: AsyncIterable<Buffer>): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunksOf(response)) {
    size += chunk.length;
    if (size > MAX_JSON_BYTES) throw tooLong();
    chunks.push(chunk);
  }
  return parse(Buffer.concat(chunks));
}

/** Reads a body of JSON objects, one a line. Yields those that each chunk completes. */
export async function* readLines(response: AsyncIterable<Buffer>): AsyncGenerator<unknown[], void> {
  let rest: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunksOf(response)) {
    const objects: unknown[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      rest.push(chunk.subarray(start, end));
      const line = Buffer.concat(rest);
      if (line.length > 0) objects.push(parse(line));
      rest = [];
      size = 0;
      start = end + 1;
    }
    rest.push(chunk.subarray(start));
    size += chunk.length - start;
    if (size > MAX_JSON_BYTES) throw tooLong();
    if (objects.length > 0) yield objects;
  }
}

async function* chunksOf(response: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  try {
    yield* response;
  } catch (cause) {
    const why = cause instanceof Error && !("code" in cause) ? `: ${cause.message}` : "";
    throw new RpcError(Code.Unavailable, `the connection to the Kubernetes API was lost${why}`, { cause });
  }
}

function parse(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString());
  } catch (cause) {
    throw new RpcError(Code.Unavailable, "the response of the Kubernetes API is malformed: it is not JSON", { cause });
  }
}

const tooLong = (): RpcError =>
  new RpcError(Code.Unavailable, `the response of the Kubernetes API is longer than ${MAX_JSON_BYTES} bytes`);
