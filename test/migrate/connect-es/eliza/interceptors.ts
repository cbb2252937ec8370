import type { Interceptor, StreamResponse, UnaryResponse } from "@connectrpc/connect";
import { Code, ConnectError } from "@connectrpc/connect";
import { kUser } from "./context.js";

export const logger: Interceptor = (next) => async (req) => {
  console.error(`${req.service.typeName}/${req.method.name} of ${req.contextValues.get(kUser).name} at ${req.url}`);
  const res = await next(req);
  res.header.set("x-logged", "1");
  return res;
};

/** Adds the token that a function returns. */
export function createAuth(token: () => string): Interceptor {
  return (next) => async (req) => {
    req.header.set("Authorization", `Bearer ${token()}`);
    try {
      return await next(req);
    } catch (e) {
      const error = ConnectError.from(e);
      if (error.code === Code.Unauthenticated) console.error(error.rawMessage, error.metadata.get("x-reason"));
      throw error;
    }
  };
}

/** Counts the messages of each response. */
export const counter =
  (count: (n: number) => void): Interceptor =>
  (next) =>
  async (req): Promise<UnaryResponse | StreamResponse> => {
    const res = await next(req);
    if (!res.stream) {
      count(1);
      return res;
    }
    return { ...res, message: counted(res.message, count) };
  };

async function* counted<T>(stream: AsyncIterable<T>, count: (n: number) => void): AsyncIterable<T> {
  let n = 0;
  for await (const message of stream) {
    n++;
    yield message;
  }
  count(n);
}
