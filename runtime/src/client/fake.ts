/**
 * Clients for tests, whose calls are answered by functions instead of a transport.
 */
import { create, type DescMessage } from "@bufbuild/protobuf";
import type { Call, ServiceDef } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import type { ProtoMethod } from "../call/method.ts";
import { type CallOptions, createClient } from "./client.ts";

/**
 * Functions that answer the calls of a fake client, by method name. Generated code has a type for each service:
 * requests arrive as full messages, and responses may be init shapes, as in handlers.
 */
export type FakeMethods<C extends object> = {
  readonly [K in keyof C]?: (request: never, options?: CallOptions) => unknown;
};

/**
 * Creates a client for tests. The given functions answer its calls; a call of any other method fails as
 * `unimplemented`. Errors of a function reach the caller unchanged. Throws a `TypeError` for a member that is not a
 * function. Generated code calls this.
 */
export function createFakeClient<C extends object>(service: ServiceDef<C, object>, methods: FakeMethods<C> = {}): C {
  const call: Call = async ({ method }) => {
    throw new RpcError(Code.Unimplemented, `${method.path} was called, but the fake client has no such method`);
  };
  const client = createClient(service, { call }) as Record<string, unknown>;
  for (const [name, method] of Object.entries(service.methods)) {
    const fake: unknown = (methods as Record<string, unknown>)[name];
    if (fake === undefined) continue;
    if (typeof fake !== "function") throw new TypeError(`${name} of a fake ${service.typeName} must be a function`);
    const bound: Fake = fake.bind(methods);
    // Messages without a schema are passed unchanged.
    client[name] = method.payload === undefined ? fakeOf(method, bound) : bound;
  }
  return client as C;
}

type Fake = (request: unknown, options?: CallOptions) => unknown;

function fakeOf(method: ProtoMethod, fake: Fake): Fake {
  const { kind } = method;
  const given = kind === "unary" || kind === "server_streaming" ? requestOf : requestsOf;
  if (kind === "unary" || kind === "client_streaming")
    return async (request, options) => responseOf(method, await fake(given(method, request), options));
  return (request, options) => responsesOf(method, () => fake(given(method, request), options));
}

function requestOf({ input, path }: ProtoMethod, request: unknown): object {
  return fakeMessage(input, request, `the request of ${path}`);
}

function responseOf({ output, path }: ProtoMethod, response: unknown): object {
  return fakeMessage(output, response, `the response of a fake ${path}`);
}

async function* requestsOf(method: ProtoMethod, requests: unknown): AsyncGenerator<object, void> {
  for await (const request of iterable(requests, `the requests of ${method.path}`)) yield requestOf(method, request);
}

/** Yields the responses of a function. It runs when the first response is read, like the call of a real client. */
async function* responsesOf(method: ProtoMethod, start: () => unknown): AsyncGenerator<object, void> {
  const responses = iterable(start(), `the responses of a fake ${method.path}`);
  for await (const response of responses) yield responseOf(method, response);
}

function fakeMessage(type: DescMessage, value: unknown, what: string): object {
  if (typeof value !== "object" || value === null) throw new TypeError(`${what} must be a message or its init shape`);
  return create(type, value as Record<string, unknown>);
}

function iterable(value: unknown, what: string): AsyncIterable<unknown> {
  if (typeof (value as AsyncIterable<unknown> | undefined)?.[Symbol.asyncIterator] === "function") {
    return value as AsyncIterable<unknown>;
  }
  throw new TypeError(`${what} must be an async iterable, such as an async generator`);
}
