/** Authorization of services: an interceptor of a server that reads the identity in the client's certificate. */
import { Code, type Interceptor, RpcError } from "triple-es";

/** Allows methods, by name, to the clients with these identities. Methods without a rule are refused. */
export function allowOnly(rules: Readonly<Record<string, readonly string[]>>): Interceptor {
  return (next) => async (request) => {
    const { method, context } = request;
    // Only names of verified certificates are here, so it is empty for clients without one.
    const identity = context.peer?.tls?.identity ?? [];
    if (identity.length === 0) throw new RpcError(Code.Unauthenticated, "a client certificate is needed");
    const allowed = rules[method.name] ?? [];
    if (identity.some((name) => allowed.includes(name))) return next(request);
    throw new RpcError(Code.PermissionDenied, `${identity.join(", ")} may not call ${method.name}`);
  };
}
