/** Cases that peers do not support, by column, with the reason. A listed case must fail. */

/** Cases by name, with the reason. */
export type Reasons = Readonly<Record<string, string>>;

const noNames = "Only Dubbo for Java sends and reads the original case of names (`tri-header-convert`).";
const noLeading = "Dubbo for Java has a single kind of response attachments, which it sends and reads as trailers.";
const noDetails = "A status of Dubbo for Java, `TriRpcStatus`, has no details.";
const newError =
  "The server copies the code and message of a handler's error into a new one, without the details " +
  "(`infoProxyInvoker`).";
const noHealth = "A client of Dubbo for Java does not call the health service.";
const fallsBack =
  "Dubbo for Java falls back to another group and version, unless the environment variable " +
  "`DUBBO_RPC_TRI_RESOLVE_FALLBACK_TO_DEFAULT=false` is set, which also removes the names of proto files.";
const toldAfterwards =
  "Dubbo for Java 3.2 notifies a handler of the end of its call only after the handler has returned: the " +
  "notification waits for it in the executor of the call.";

const noEvents = "dubbo-go has streams over gRPC only: status 415.";

export const UNSUPPORTED: Readonly<Record<string, Reasons>> = {
  "us → dubbo-go": { attachment_names: noNames, details: newError },
  "dubbo-go → us": {
    attachment_names: noNames,
    gzip_requests: "The client of dubbo-go has no option for it; that of its inner package is not accessible.",
  },
  "us → Java 3.3": {
    leading_metadata: noLeading,
    status_message:
      "Dubbo for Java 3.3 does not encode messages (`CompositeExceptionHandler`); a message with a line " +
      "break is not a valid header and is lost.",
    details: noDetails,
    deadline_at_the_server:
      "Unary calls in Dubbo for Java 3.3 share the cancellation of their I/O thread " +
      "(`GenericHttp2ServerTransportListener`): after one of them was cancelled, the handlers of all later " +
      "ones see theirs cancelled.",
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
      "In Dubbo for Java 3.2 the path of a proto file leads to the service that was exported first, " +
      "whatever the group; it does not answer the Java name, which would distinguish them.",
    cancel: toldAfterwards,
    unknown_group: fallsBack,
    unknown_version: fallsBack,
    gzip_responses: "Dubbo for Java 3.2 compresses only if the handler of a stream asks for it (`setCompression`).",
  },
  "Java 3.2 → us": {
    leading_metadata: noLeading,
    gzip_requests:
      "In 3.2 an environment variable turns compression on for all calls of a program; the test program " +
      "does not set it.",
    health: noHealth,
  },
  "us → dubbo-go (HTTP RPC)": {
    json_array: "dubbo-go accepts a message as an object, not as an array of one.",
    events: noEvents,
    failure_after_events: noEvents,
  },
  "dubbo-go → us (HTTP RPC)": {
    json_array: "dubbo-go sends a message as an object.",
    events: noEvents,
    failure_after_events: noEvents,
  },
  "us → Java 3.3 (HTTP RPC)": {
    json_array:
      "Dubbo for Java reads the content of the array as an object of Java, and makes an empty message of it" +
      " without an error (`FallbackArgumentResolver`).",
    proto: "Dubbo for Java has no codec for Protocol Buffers over HTTP RPC: status 415.",
    gzip: "Dubbo for Java ignores `content-encoding`: `Error decoding json`.",
    trailers:
      "Dubbo for Java sends attachments as headers without a prefix over HTTP/2 " +
      "(`Http2UnaryServerChannelObserver`), and none over HTTP/1.1.",
    status:
      "Dubbo for Java sends only the HTTP status, which several codes share, and the name of the code in " +
      "the message.",
    unknown_group:
      "In Dubbo for Java a service without group and version receives every call that matches no other " +
      "service of the interface (`RequestMapping`).",
    broken_body: "Dubbo for Java answers 500 to a body that it cannot decode (`DecodeException`).",
  },
};

const onlyMessage = "Over HTTP RPC Dubbo for Java sends only the message of an exception.";

const noOverloads = "Go has no overloads, and dubbo-go finds a method by its name alone.";
const notNull = "dubbo-go refuses an argument or a result that is null: `@in is nil` (`reflectResponse`).";
const noExceptions = "dubbo-go answers a handler's error with status 2 and the message; it never sends an exception.";
const result =
  "The client of dubbo-go does not read `tri-exception-code`: the exception becomes the result, and if the " +
  "result has another type, the client panics.";

/** The unsupported cases of interfaces without proto files. */
export const UNSUPPORTED_WITHOUT_IDL: Readonly<Record<string, Reasons>> = {
  "us → dubbo-go": {
    overloads: noOverloads,
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
    bytes:
      "Dubbo for Java answers with the bytes themselves, with the content type of JSON " + "(`RestHttpMessageCodec`).",
    cycles: "Dubbo for Java cannot encode an object that contains itself as JSON: `Error encoding json`.",
    objects_of_any_type: "JSON does not distinguish a `long` from other numbers, or the class of an object.",
    checked_exception: onlyMessage,
    unchecked_exception: onlyMessage,
  },
};

const noEnums = "dubbo-go converts enums neither from nor to the names of their constants (`MapGeneralizer`).";
const generalized = "dubbo-go converts a date like any other struct, to an empty map (`MapGeneralizer`).";

/** The unsupported cases of generic calls. */
export const UNSUPPORTED_GENERIC: Readonly<Record<string, Reasons>> = {
  "us → dubbo-go": {
    overloads: noOverloads,
    dates_and_decimals: generalized,
    maps: "dubbo-go writes each key of a `map[any]any` as `<interface {} Value>` (`MapGeneralizer`).",
    sets: "Go has no sets: they become lists.",
    enums: noEnums,
    objects: noEnums,
    cycles: "dubbo-go converts an object that contains itself without an end (`MapGeneralizer`).",
    checked_exception: noExceptions,
    unchecked_exception: noExceptions,
  },
  "dubbo-go → us": { null_and_void: notNull, checked_exception: result, unchecked_exception: result },
};

/** The unsupported cases of bodies other than JSON. */
export const UNSUPPORTED_BODIES: Readonly<Record<string, Reasons>> = {
  "HTTP client → Java 3.3": {
    form_by_position: "Dubbo for Java binds values only by the names of parameters (`FallbackArgumentResolver`).",
    multipart_of_bytes:
      "Dubbo for Java reads a part for a `byte[]` as the text of a number (`FallbackArgumentResolver`); " +
      "only a `FileUpload` receives it undecoded.",
  },
};
