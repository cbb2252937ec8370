/** An interceptor of a client: each order gets a key, by which the server recognizes a repeated request. */
import { randomUUID } from "node:crypto";
import type { Interceptor } from "triple-es";

export const withIdempotencyKey: Interceptor = (next) => async (request) => {
  const { method, headers } = request;
  if (method.name === "PlaceOrder" && !headers.has("idempotency-key")) headers.set("idempotency-key", randomUUID());
  return next(request);
};
