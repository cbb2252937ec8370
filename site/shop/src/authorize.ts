import { type Authorize, Code, createContextKey, RpcError } from "triple-es";

/** The caller, for handlers: `context.values.get(user)`. */
export const user = createContextKey("anonymous");

const USERS = new Map([["Bearer secret", "Ann"]]);

/** Runs before a call's message is read. */
export const authorize: Authorize = ({ method, headers, context }) => {
  if (method.service === "grpc.health.v1.Health") return;
  const name = USERS.get(headers.get("authorization") ?? "");
  if (name === undefined) throw new RpcError(Code.Unauthenticated, "a token is needed");
  context.values.set(user, name);
};
