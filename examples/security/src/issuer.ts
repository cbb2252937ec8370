/**
 * A stand-in for an identity provider such as Keycloak or Auth0: it issues tokens, and publishes the public keys that verify
 * them. The keys are created when it starts. It does not check who asks: a real one does.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { AUDIENCE, ISSUER } from "./configuration.ts";

/** Starts it, and returns its URL. */
export async function startIssuer(port: number): Promise<string> {
  const { privateKey, publicKey } = await generateKeyPair("RS256");
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: "1", alg: "RS256", use: "sig" }] };

  const issue = async (query: URLSearchParams): Promise<object> => {
    const seconds = Number(query.get("seconds") ?? 300);
    const token = await new SignJWT({ scope: query.get("scope") ?? "" })
      .setProtectedHeader({ alg: "RS256", kid: "1" })
      .setSubject(query.get("user") ?? "anonymous")
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setIssuedAt()
      .setExpirationTime(Math.floor(Date.now() / 1_000) + seconds)
      .sign(privateKey);
    return { access_token: token, token_type: "Bearer", expires_in: seconds };
  };

  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    const answer = pathname === "/token" ? await issue(searchParams) : pathname === "/jwks.json" ? keys : undefined;
    response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  server.unref();
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
