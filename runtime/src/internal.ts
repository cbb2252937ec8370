/**
 * Entry point `triple-es/internal`: what `triple-es-dubbo` and `triple-es-nest` of the same version need in addition to the
 * public API. It is no part of that API, and changes without notice.
 *
 * @module triple-es/internal
 */
export { Backoff } from "./call/backoff.ts";
export { decodeBase64 } from "./call/base64.ts";
export { concat } from "./call/bytes.ts";
export { abortError, callHook, reasonOf } from "./call/error.ts";
export { mapEach } from "./call/message-stream.ts";
export {
  assertAmount,
  assertArrays,
  assertFunctions,
  assertMembers,
  assertOneOf,
  resolveLimitGroup,
} from "./call/option.ts";
export { defer, now, random, repeat, startBackgroundTimer, startTimer, wallClock } from "./call/platform.ts";
export { delay, delayInBackground, onAbort, resolvedWithin, unlessAborted } from "./call/timer.ts";
export { setEntry } from "./codec/binary/map.ts";
export { decodeJsonText, encodeJson } from "./codec/codec.ts";
export { BACKSLASH, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "./codec/json-syntax.ts";
export { countProtoValues } from "./codec/values/proto.ts";
export { DEFAULT_MAX_MESSAGE_VALUES, Units, ValueCount } from "./codec/values/values.ts";
export { DEFAULT_WEIGHT, endpointProblem, formatAddress, parseAddress } from "./discovery/endpoint.ts";
export { readDetails, userMetadata } from "./grpc/status.ts";
export { NUMBER, parseBoolean } from "./http-rpc/body/parameters.ts";
export { entriesOf, textOf } from "./http-rpc/body/xml.ts";
export { badRequest } from "./http-rpc/headers.ts";
export { streamError } from "./http-rpc/unary-client.ts";
export { decodingReason } from "./protocol/error.ts";
export type * from "./protocol/payload.ts";
export type { Handler } from "./protocol/protocol.ts";
export { formatServiceKey } from "./protocol/selector.ts";
export { readOnly, TEXT_TYPE, textResponse } from "./server/resource.ts";
export type { CallingResource, MethodRouter } from "./server/router.ts";
export { VERSION } from "./version.ts";
