/** An interceptor of a client that attaches a token to each call, and renews it. */
import { Code, type Interceptor, RpcError } from "triple-es";

export interface Token {
  readonly value: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Tokens are renewed this long before they expire, so that none expires on its way. */
const RENEW_BEFORE_MS = 10_000;

/** Attaches the token that `fetchToken` returns. Calls that need a new token at the same time share one request for it. */
export function bearer(fetchToken: () => Promise<Token>): Interceptor {
  let current: Promise<Token> | undefined;

  const renew = (): Promise<Token> => {
    const renewed = fetchToken();
    current = renewed;
    // The next call tries again.
    renewed.catch(() => {
      if (current === renewed) current = undefined;
    });
    return renewed;
  };
  const valid = async (): Promise<Token> => {
    const before = current;
    if (before === undefined) return renew();
    const token = await before;
    if (token.expiresAt - Date.now() > RENEW_BEFORE_MS) return token;
    return current === before || current === undefined ? renew() : current;
  };

  return (next) => async (request) => {
    const send = (token: Token): ReturnType<typeof next> => {
      request.headers.set("authorization", `Bearer ${token.value}`);
      return next(request);
    };
    const token = await valid();
    try {
      return await send(token);
    } catch (error) {
      // The server's clock may differ, or its keys may have changed. A stream cannot be sent twice.
      if (request.stream || !(error instanceof RpcError) || error.code !== Code.Unauthenticated) throw error;
      const latest = await (current ?? renew());
      return send(latest === token ? await renew() : latest);
    }
  };
}
