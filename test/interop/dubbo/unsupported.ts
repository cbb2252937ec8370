/**
 * What peers do not support, by column and case, and why. A case that is listed here has to fail.
 */

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
  "dubbo-go → us (HTTP RPC)": { json_array: "dubbo-go sends a message as an object." },
  "us → Java 3.3 (HTTP RPC)": {
    json_array:
      "Dubbo for Java takes what is in the array for an object of Java, and makes an empty message of it " +
      "(`FallbackArgumentResolver`), without an error.",
    proto: "Dubbo for Java has no codec for Protocol Buffers over HTTP RPC: status 415.",
    gzip: "Dubbo for Java does not look at `content-encoding`: `Error decoding json`.",
    trailers:
      "Dubbo for Java sends attachments as headers without a prefix over HTTP/2 (`Http2UnaryServerChannelObserver`), and none over " +
      "HTTP/1.1.",
    status:
      "Dubbo for Java tells the HTTP status alone, which several codes share, and has the name of the code in the message.",
    unknown_group:
      "Dubbo for Java asks nothing of a call to a service without group and version (`RequestMapping`): it takes what no " +
      "other service of the interface wants.",
    broken_body: "Dubbo for Java answers 500 to a body that it cannot decode (`DecodeException`).",
  },
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
    bytes: "Dubbo for Java answers with the bytes themselves, and calls them JSON (`RestHttpMessageCodec`).",
    cycles: "Dubbo for Java cannot write an object that holds itself in JSON: `Error encoding json`.",
    objects_of_any_type: "JSON says of a value neither whether it is a `long` nor of which class it is.",
    checked_exception: onlyMessage,
    unchecked_exception: onlyMessage,
  },
};

/** The same for bodies other than JSON. */
export const UNSUPPORTED_BODIES: Readonly<Record<string, Reasons>> = {
  "HTTP client → Java 3.3": {
    form_by_position: "Dubbo for Java finds values by the names of parameters alone (`FallbackArgumentResolver`).",
    multipart_of_bytes:
      "Dubbo for Java reads a part for a `byte[]` as the text of a number (`FallbackArgumentResolver`); undecoded it " +
      "comes only as a `FileUpload`.",
  },
};
