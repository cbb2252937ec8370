/**
 * The binding HTTP+JSON of A2A (specification, section 11): routes of `google.api.http`, whose errors have the body and the
 * HTTP status of AIP-193.
 */
import type { Body, HttpResponse, Router } from "triple-es";
import { createRouter } from "triple-es/node";
import { addRest, type RestRule } from "triple-es/rest";
import { bodyOf } from "./body.ts";

/** The body of an error over HTTP RPC. */
interface ErrorBody {
  readonly message: string;
  readonly code: string;
  readonly details?: readonly { readonly type: string; readonly debug?: object }[];
}

/** Subscriptions are GET by their annotation, but POST in the specification (section 5.3) and in SDKs. */
const SUBSCRIBE: RestRule = {
  selector: "lf.a2a.v1.A2AService.SubscribeToTask",
  post: "/tasks/{id}:subscribe",
  body: "*",
  additionalBindings: [
    { get: "/tasks/{id}:subscribe" },
    { post: "/{tenant}/tasks/{id}:subscribe", body: "*" },
    { get: "/{tenant}/tasks/{id}:subscribe" },
  ],
};

/** The statuses that differ from those of HTTP RPC, and that of an error among events (google/rpc/code.proto). */
const HTTP_STATUS: Readonly<Record<string, number>> = {
  failed_precondition: 400,
  deadline_exceeded: 504,
  unavailable: 503,
};

const MAX_ERROR_BYTES = 1_048_576;
const decoder = new TextDecoder();
const encoder = new TextEncoder();
const FAILURE = "event: failure\ndata: ";

/** Adds the binding to a server. `add` adds the service to the router of the binding. */
export function addHttpJson(server: Router, add: (router: Router) => void): void {
  const router = createRouter();
  add(router);
  addRest(router, { rules: [SUBSCRIBE] });
  const [rest] = router.resources;
  server.mount({
    serves: (request) => rest?.serves(request) ?? false,
    exchange: async (request) => withErrors(await router.exchange(request)),
  });
}

/** Replaces the body of an error, in a response and at the end of its events. */
async function withErrors(response: HttpResponse): Promise<HttpResponse> {
  if (response.status === 200) return { ...response, body: withErrorEvent(response.body) };
  const { error } = convert(decoder.decode(await response.body.bytes(MAX_ERROR_BYTES)), response.status);
  return { ...response, status: error.code, body: bodyOf(encoder.encode(JSON.stringify({ error }))) };
}

function withErrorEvent(body: Body): Body {
  if (body.whole !== undefined) return body;
  async function* events(): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      const text = decoder.decode(chunk);
      if (!text.startsWith(FAILURE)) yield chunk;
      else yield encoder.encode(`event: error\ndata: ${JSON.stringify(convert(text.slice(FAILURE.length), 500))}\n\n`);
    }
  }
  return { bytes: (limit) => body.bytes(limit), [Symbol.asyncIterator]: events };
}

/** Converts the body of an error. */
function convert(body: string, httpStatus: number) {
  const { message, code, details = [] } = JSON.parse(body) as ErrorBody;
  return {
    error: {
      code: HTTP_STATUS[code] ?? httpStatus,
      status: code === "canceled" ? "CANCELLED" : code.toUpperCase(),
      message,
      details: details.map(({ type, debug }) => ({ "@type": `type.googleapis.com/${type}`, ...debug })),
    },
  };
}
