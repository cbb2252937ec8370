/** Authentication: an interceptor of a server that verifies the token of each call and passes its user to the handler. */
import { errors, type JWTVerifyGetKey, jwtVerify } from "jose";
import { Code, createContextKey, type Interceptor, RpcError } from "triple-es";
import { AUDIENCE, ISSUER } from "./configuration.ts";

export interface User {
  readonly id: string;
  readonly scopes: readonly string[];
}

/** The user of a call. Handlers read it with `context.values.get(currentUser)`; it has this type. */
export const currentUser = createContextKey<User>({ id: "anonymous", scopes: [] }, "user");

/** Verifies tokens with these keys, for example those of `createRemoteJWKSet`. Calls without a valid token fail. */
export function authenticate(keys: JWTVerifyGetKey): Interceptor {
  return (next) => async (request) => {
    const [scheme, token] = request.headers.get("authorization")?.split(" ") ?? [];
    if (scheme?.toLowerCase() !== "bearer" || token === undefined) {
      throw new RpcError(Code.Unauthenticated, "a token is needed: send the header authorization: Bearer <token>");
    }
    request.context.values.set(currentUser, await verify(token, keys));
    return next(request);
  };
}

async function verify(token: string, keys: JWTVerifyGetKey): Promise<User> {
  // The algorithm is fixed: a token must not choose how it is verified.
  const options = { issuer: ISSUER, audience: AUDIENCE, algorithms: ["RS256"], requiredClaims: ["sub", "exp"] };
  try {
    const { payload } = await jwtVerify(token, keys, options);
    const scopes = typeof payload["scope"] === "string" ? payload["scope"].split(" ") : [];
    return { id: payload.sub ?? "", scopes };
  } catch (error) {
    throw errorOf(error);
  }
}

function errorOf(error: unknown): RpcError {
  if (error instanceof errors.JWTExpired) {
    const expiry = new Date((error.payload.exp ?? 0) * 1_000).toISOString();
    return new RpcError(Code.Unauthenticated, `the token expired at ${expiry}; get a new one`);
  }
  const isInvalid =
    error instanceof errors.JWTClaimValidationFailed ||
    error instanceof errors.JWTInvalid ||
    error instanceof errors.JWSInvalid ||
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JOSEAlgNotAllowed ||
    error instanceof errors.JWKSNoMatchingKey;
  if (isInvalid) return new RpcError(Code.Unauthenticated, `the token is not valid: ${error.message}`);
  return new RpcError(Code.Unavailable, "the keys of the identity provider cannot be read", { cause: error });
}

/** Throws `permission_denied` unless the user has the scope. */
export function requireScope(user: User, scope: string): void {
  if (user.scopes.includes(scope)) return;
  throw new RpcError(Code.PermissionDenied, `the token of ${user.id} needs the scope ${scope}`);
}
