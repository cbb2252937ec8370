/**
 * Access tokens of Nacos: made from a user name and a password over HTTP, and renewed before they expire.
 */
import { once } from "node:events";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { Code, RpcError } from "triple-es";
import { formatAddress, now, reasonOf, startBackgroundTimer } from "triple-es/internal";
import { currentTlsOptions } from "triple-es/internal/node";
import type { ClientTlsOptions } from "triple-es/node";
import type { Credentials, ServerAddress } from "../servers.ts";

/** The paths of the login, in Nacos 2 and 3. */
const PATHS = ["/nacos/v1/auth/login", "/nacos/v3/auth/user/login"];
/** The share of its lifetime after which a token is renewed. */
const RENEW_AFTER = 0.8;
/** The time in milliseconds between logins because a token is refused, as another one may be, or because a login failed. */
const REFUSED_MS = 5_000;
const LOGIN_MS = 5_000;
const MAX_BODY_BYTES = 64 * 1024;

/** Makes a function that returns the current token. It rejects with `unauthenticated` if the server refuses the password. */
export function createTokenSource(
  servers: readonly ServerAddress[],
  credentials: Credentials,
  tls: ClientTlsOptions | undefined,
): (isRefused: boolean) => Promise<string> {
  let current: Promise<string> | undefined;
  let [renewAt, refusableAt] = [0, 0];
  const renew = async (): Promise<string> => {
    const { token, ttlMs } = await login(servers, credentials, tls);
    [renewAt, refusableAt] = [now() + ttlMs * RENEW_AFTER, now() + REFUSED_MS];
    return token;
  };
  return (isRefused) => {
    const last = current;
    if (last !== undefined && now() <= (isRefused ? refusableAt : renewAt)) return last;
    renewAt = refusableAt = Number.POSITIVE_INFINITY;
    current = renew().catch((reason: unknown) => {
      // The last token may still be good.
      current = last;
      renewAt = refusableAt = now() + REFUSED_MS;
      throw reason;
    });
    return current;
  };
}

async function login(servers: readonly ServerAddress[], credentials: Credentials, tls: ClientTlsOptions | undefined) {
  const failures: string[] = [];
  for (const { host, port } of servers) {
    for (const path of PATHS) {
      const origin = `${tls === undefined ? "http" : "https"}://${formatAddress(host, port)}`;
      try {
        const { status, text } = await post(new URL(path, origin), new URLSearchParams({ ...credentials }), tls);
        if (status === 401 || status === 403) {
          throw new RpcError(Code.Unauthenticated, `the server refuses the user ${credentials.username}`);
        }
        if (status === 200) return readToken(text);
        failures.push(`${origin}${path}: HTTP status ${status} ${text.slice(0, 200)}`);
      } catch (reason) {
        if (reason instanceof RpcError) throw reason;
        failures.push(`${origin}: ${reasonOf(reason)}`);
      }
    }
  }
  throw new RpcError(Code.Unavailable, `login is not possible (${failures.join("; ")})`);
}

function readToken(text: string): { readonly token: string; readonly ttlMs: number } {
  let body: { readonly accessToken?: unknown; readonly tokenTtl?: unknown } | undefined;
  try {
    body = JSON.parse(text);
  } catch {
    // reported below
  }
  const { accessToken: token, tokenTtl } = body ?? {};
  if (typeof token === "string") return { token, ttlMs: (Number(tokenTtl) || 18_000) * 1_000 };
  throw new RpcError(Code.Unavailable, "the response to the login is malformed: it has no accessToken");
}

async function post(url: URL, form: URLSearchParams, tls: ClientTlsOptions | undefined) {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const send = tls === undefined ? requestHttp : requestHttps;
  const request = send(url, { method: "POST", headers, agent: false, ...(tls && currentTlsOptions(tls)) });
  request.on("error", () => {}); // After the head of the response, it is an error of the response too.
  const late = new Error(`no response within ${LOGIN_MS / 1_000} s`);
  let response: IncomingMessage | undefined;
  const stopTimer = startBackgroundTimer(LOGIN_MS, () => (response ?? request).destroy(late));
  try {
    [response] = (await once(request.end(form.toString()), "response")) as [IncomingMessage];
    let text = "";
    for await (const chunk of response.setEncoding("utf8")) {
      text += chunk;
      if (text.length > MAX_BODY_BYTES) throw new Error("the response is too long");
    }
    return { status: response.statusCode, text };
  } finally {
    stopTimer();
    request.destroy();
  }
}
