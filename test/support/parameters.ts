/** A service that returns the message of the request, for all kinds of bodies. */
import { createRouter, type RouterOptions, type ServiceOptions } from "triple-es";
import {
  ParametersServiceDef,
  type ParametersServiceHandler,
} from "../../fixtures/gen/fixture/parameters/v1/parameters_triple.ts";
import type { HttpResponse } from "../../runtime/src/http/exchange.ts";
import { type Bytes, type Fields, rpcRequest, textOf } from "./greeter.ts";

export const ECHO: ParametersServiceHandler = {
  all: (message) => message,
  map: (message) => message,
  struct: (message) => message,
  text: (message) => message,
  file: (message) => message,
  bytes: (message) => message,
};

export const EVERY_BODY = ["multipart", "form", "text", "xml"] as const;

/** The outcome of a request. */
export interface Answer {
  readonly status: number;
  readonly contentType: string | undefined;
  /** Returns the value of a body in JSON, or else the text of the body. */
  readonly body: unknown;
  readonly response: HttpResponse;
}

/** Sends a body to one of the methods. */
export type Send = (
  method: keyof typeof METHODS,
  contentType: string,
  body: Bytes,
  headers?: Fields,
) => Promise<Answer>;

const METHODS = { all: "All", map: "Map", struct: "Struct", text: "Text", file: "File", bytes: "Bytes" } as const;

/** Every kind of body is enabled, and every request has the header that proves its origin. */
export function routeParameters(serviceOptions: ServiceOptions = {}, options: RouterOptions = {}): Send {
  const router = createRouter(options).add(ParametersServiceDef, ECHO, { bodies: EVERY_BODY, ...serviceOptions });
  return async (method, contentType, body, headers = {}) => {
    const path = `/fixture.parameters.v1.ParametersService/${METHODS[method]}`;
    const fields = { "content-type": contentType, "tri-protocol-version": "1.0.0", ...headers };
    const response = await router.exchange(rpcRequest({ path, headers: fields, body }));
    const text = await textOf(response);
    const type = response.headers.get("content-type");
    return {
      status: response.status,
      contentType: type,
      body: type?.includes("json") ? JSON.parse(text) : text,
      response,
    };
  };
}
