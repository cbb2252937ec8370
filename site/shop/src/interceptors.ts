import { codeName, type Interceptor, RpcError } from "triple-es";

/** Sends a token, in the transport of a client. */
export const withToken =
  (token: string): Interceptor =>
  (next) =>
  (request) => {
    request.headers.set("authorization", `Bearer ${token}`);
    return next(request);
  };

/** Prints failed calls, on either side. */
export const logged: Interceptor = (next) => async (request) => {
  try {
    return await next(request);
  } catch (error) {
    console.error(request.method.path, error instanceof RpcError ? codeName(error.code) : error);
    throw error;
  }
};
