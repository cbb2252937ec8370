/** Methods of contracts in TypeScript: the server's half of their payload. */
import type { ServiceDef } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { createDetail, RpcError } from "../call/error.ts";
import type { Method, PayloadMethod } from "../call/method.ts";
import { parseBounded } from "../codec/bounded-codec.ts";
import { countOf, DEFAULT_MAX_MESSAGE_VALUES } from "../codec/values/values.ts";
import { BadRequestSchema } from "../gen/google/rpc/error_details_pb.ts";
import { type ContractMessage, type ContractPayload, encodeContract } from "../protocol/contract.ts";
import { clipText } from "../protocol/error.ts";
import type { PayloadBody, ServerPayload } from "../protocol/payload.ts";

/** Returns the service of a contract as servers take it. Its methods have the server's half of the payload, too. */
export function serveContract<C extends object, H extends object>(service: ServiceDef<C, H>): ServiceDef<C, H> {
  const methods = Object.entries(service.methods).map(([name, method]) => [name, served(method)]);
  return { ...service, methods: Object.fromEntries(methods) };
}

function served(method: Method): Method {
  const { request, response } = method.payload as ContractPayload;
  const encode = (message: object): Uint8Array => encodeContract(response.toJson(message));
  const server: ServerPayload = {
    codec: "json",
    paths: () => [],
    isOverload: () => false,
    isText: () => false,
    bind: (_method, implementation) => implementation as (input: never, context: never) => unknown,
    openGrpc: (_methods, { maxMessageValues = DEFAULT_MAX_MESSAGE_VALUES }) => ({
      method,
      decode: (bytes) => read(request, parseBounded(bytes, countOf(bytes, maxMessageValues))),
      encode,
      encodeError(error) {
        throw error;
      },
    }),
    openHttpRpc: () => ({
      method,
      decode: (body) => read(request, argumentOf(body)),
      encode,
      resultOf() {
        throw new TypeError("results of contracts are JSON");
      },
    }),
  };
  return { ...(method as PayloadMethod), payload: { ...method.payload, server } };
}

/** Returns the argument in a body: an array is the list of arguments, which may be left out of one that is empty. */
function argumentOf({ bytes, maxMessageValues }: PayloadBody): unknown {
  if (bytes.byteLength === 0) return {};
  const json = parseBounded(bytes, countOf(bytes, maxMessageValues));
  if (!Array.isArray(json)) return json;
  if (json.length > 1) throw new Error(`the body has ${json.length} arguments; the method takes one`);
  return json.length === 0 ? {} : json[0];
}

type Issue = readonly [field: string, text: string];

/** Reads a request. Throws `invalid_argument` with the detail `google.rpc.BadRequest` for an invalid one. */
function read(request: ContractMessage, json: unknown): object {
  try {
    return request.fromJson(json) as object;
  } catch (cause) {
    const { issues, message } = cause as Error & { issues?: readonly Issue[] };
    if (issues === undefined) throw cause;
    const fieldViolations = issues.map(([field, description]) => ({ field, description }));
    // The JSON of protobuf would leave an empty field out.
    const details = [{ ...createDetail(BadRequestSchema, { fieldViolations }), debug: { fieldViolations } }];
    throw new RpcError(Code.InvalidArgument, clipText(message), { details, cause });
  }
}
