/** The echo service of benchmarks that call one of its methods. */
import type { EchoServiceHandler } from "./gen/echo_triple.ts";

/** Answers requests with their messages, and streams with none. */
export const echoService: EchoServiceHandler = {
  echo: (request) => request,
  echoOrder: (request) => request,
  echoBlob: (request) => request,
  async *talk() {},
  async *repeat() {},
};
