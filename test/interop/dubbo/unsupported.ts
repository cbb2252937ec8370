/**
 * What peers do not support, by column and case, and why. A case that is listed here has to fail.
 */

import { httpRpcCaseNames } from "./http-rpc.ts";

/** Cases by name, with the reason. */
export type Reasons = Readonly<Record<string, string>>;

const noNames = "Only Dubbo for Java tells and reads the capitals of names (`tri-header-convert`).";
const noLeading = "Dubbo for Java has one kind of attachments on responses, and sends and reads them as trailers.";
const noDetails = "A status of Dubbo for Java, `TriRpcStatus`, has no details.";
const newError =
  "The server makes a new error of a handler's code and message, without the details (`infoProxyInvoker`).";
const noHealth = "A client of Dubbo for Java does not ask for the health of a server.";
const fallsBack =
  "Dubbo for Java falls back to another group and version, unless the environment variable " +
  "`DUBBO_RPC_TRI_RESOLVE_FALLBACK_TO_DEFAULT=false` is set; then it has no names of proto files any more.";
const toldAfterwards =
  "Dubbo for Java 3.2 tells a handler that its call is over when it has returned: the notice waits for it " +
  "in the executor of the call.";

const noStubs =
  "Dubbo for Java 3.3.6 answers 404 over HTTP RPC to every path of a service with stubs of its compiler 3.3.5; " +
  "interfaces without proto files are served.";

const noClient = "Dubbo for Java has no client of HTTP RPC; that of the JDK, which stands in, knows only JSON as text.";

export const UNSUPPORTED: Readonly<Record<string, Reasons>> = {
  "us → dubbo-go": { attachment_names: noNames, details: newError },
  "dubbo-go → us": {
    attachment_names: noNames,
    gzip_requests: "The client of dubbo-go has no option for it; that of its inner package is not reached.",
  },
  "us → Java 3.3": {
    leading_metadata: noLeading,
    status_message:
      "Dubbo for Java 3.3 does not encode messages (`CompositeExceptionHandler`); one with a line break is no header, and is lost.",
    details: noDetails,
    deadline_at_the_server:
      "Unary calls in Dubbo for Java 3.3 share the cancellation of their I/O thread " +
      "(`GenericHttp2ServerTransportListener`): once one was cancelled, handlers of all later ones find theirs cancelled.",
    unknown_group: fallsBack,
    unknown_version: fallsBack,
    gzip_responses: "Dubbo for Java 3.3 never compresses responses over gRPC (`GrpcCompositeCodec`).",
  },
  "Java 3.3 → us": { leading_metadata: noLeading, health: noHealth },
  "us → Java 3.2": {
    leading_metadata: noLeading,
    details: noDetails,
    deadline_at_the_server: toldAfterwards,
    group_and_version:
      "In Dubbo for Java 3.2 the path of a proto file leads to the service that was exported first, whatever the group; " +
      "the Java name, which would tell them apart, is not answered.",
    cancel: toldAfterwards,
    unknown_group: fallsBack,
    unknown_version: fallsBack,
    gzip_responses: "Dubbo for Java 3.2 compresses only where the handler of a stream asks for it (`setCompression`).",
  },
  "Java 3.2 → us": {
    leading_metadata: noLeading,
    gzip_requests:
      "An environment variable decides in 3.2 for all calls of a program; this one makes its calls without.",
    health: noHealth,
  },
  "us → dubbo-go (HTTP RPC)": { json_array: "dubbo-go takes a message as an object, not as an array of one." },
  "dubbo-go → us (HTTP RPC)": {
    json_array: "dubbo-go sends a message as an object.",
    broken_body: "The client of dubbo-go encodes its messages itself.",
    unknown_codec: "The client of dubbo-go encodes its messages itself.",
  },
  "Java 3.3 → us (HTTP RPC)": {
    proto: noClient,
    gzip: noClient,
  },
  "us → Java 3.3 (HTTP RPC)": Object.fromEntries(
    // What is not found is unimplemented, which is all that the case of an unknown group wants.
    httpRpcCaseNames.filter((name) => name !== "unknown_group").map((name) => [name, noStubs]),
  ),
};

const onlyMessage = "Over HTTP RPC Dubbo for Java tells only the message of an exception.";

const notNull = "dubbo-go refuses an argument or a result that is null: `@in is nil` (`reflectResponse`).";
const noExceptions =
  "dubbo-go answers an error of a handler with status 2 and the message; an exception is never sent.";
const result =
  "The client of dubbo-go does not read `tri-exception-code`: what was thrown becomes the result, and where that has " +
  "another type, the client panics.";

/** The same for interfaces without proto files. */
export const UNSUPPORTED_WITHOUT_IDL: Readonly<Record<string, Reasons>> = {
  "us → dubbo-go": {
    overloads: "Go has no overloads, and dubbo-go looks for a method by its name alone.",
    boxed: notNull,
    objects_of_any_type: notNull,
    checked_exception: noExceptions,
    unchecked_exception: noExceptions,
  },
  "dubbo-go → us": {
    boxed: notNull,
    null_and_void: notNull,
    checked_exception: result,
    unchecked_exception: result,
  },
  "us → Java 3.3 (HTTP RPC)": {
    bytes: "Dubbo for Java answers with the bytes themselves, and calls them JSON.",
    cycles: "Dubbo for Java cannot write an object that holds itself in JSON: `Error encoding json`.",
    objects_of_any_type: "JSON says of a value neither whether it is a `long` nor of which class it is.",
    checked_exception: onlyMessage,
    unchecked_exception: onlyMessage,
  },
};
