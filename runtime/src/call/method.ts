/**
 * Methods as generated code declares them. Most messages have a Protocol Buffers schema and are encoded by the codec of a
 * transport or server; a method without schemas has a payload that encodes them. Descriptors are found by the messages.
 */
import type { DescMessage, DescMethod } from "@bufbuild/protobuf";

/** A generated codec for the binary format of one message type (plugin option `codecs`). */
export interface GeneratedCodec {
  /** Encodes a message after `headroom` bytes (default: 0), which the caller fills in. */
  encode(message: object, headroom?: number): Uint8Array;
  /**
   * Decodes bytes to a new message, or merges them into `message`. Throws an `Error` for bytes that are not a valid
   * message.
   */
  decode(bytes: Uint8Array, message?: object): object;
}

/** A method whose messages have Protocol Buffers schemas. */
export interface ProtoMethod {
  /** The kind of call. HTTP RPC carries only `unary` (spec: What the service does). */
  readonly kind: "unary" | "server_streaming" | "client_streaming" | "bidi_streaming";
  /** Full name of the service, such as `greet.v1.GreetService`. */
  readonly service: string;
  /** Name of the method as declared, such as `Greet`. */
  readonly name: string;
  /** Path of a call: `/<service>/<name>` (spec: Call addressing fields). */
  readonly path: string;
  /** The effect of repeated calls of the method, as its author declares it (`idempotency_level`). Default: not declared. */
  readonly idempotency?: "no_side_effects" | "idempotent";
  /** True if the author of the service has declared the method deprecated. Default: false. */
  readonly deprecated?: boolean;
  /** Names that Dubbo for Java uses for the service and the method (plugin option `java_names`). */
  readonly alias?: {
    /** Full name of the Java interface. */
    readonly service: string;
    /** Name of the Java method, such as `greet`. */
    readonly method: string;
  };
  /** The schema of request messages. */
  readonly input: DescMessage;
  /** The schema of response messages. */
  readonly output: DescMessage;
  /**
   * Generated codecs of the messages for protobuf's binary format. Default: protobuf-es encodes the
   * messages by their schemas.
   */
  readonly codecs?: { readonly input: GeneratedCodec; readonly output: GeneratedCodec };
  /** The descriptor, in code generated with `descriptors=true`. `descriptorOf` also finds that of most other methods. */
  readonly descriptor?: () => DescMethod;
  /** Absent: it distinguishes the method from a {@link PayloadMethod}. */
  readonly payload?: undefined;
}

/** A method whose messages have no schema. */
export interface PayloadMethod extends Omit<ProtoMethod, "input" | "output" | "codecs" | "descriptor" | "payload"> {
  /** Absent: it distinguishes the method from a {@link ProtoMethod}. */
  readonly input?: undefined;
  /** Absent, as the messages have no schema. */
  readonly output?: undefined;
  /** Absent, as the method is not declared in a proto file. */
  readonly descriptor?: undefined;
  /** The encoding of the messages: a `Payload`, which the sub-protocols read. */
  readonly payload: object;
}

/** One method of a service, as generated code declares it: plain data, shared by clients, servers and interceptors. */
export type Method = ProtoMethod | PayloadMethod;

/** A cache of the descriptors found so far: interceptors may request one on every call. */
const known = new WeakMap<Method, DescMethod>();

/**
 * Returns the descriptor of a method, from which `getOption` of `@bufbuild/protobuf` reads custom options; `undefined`
 * for a method whose messages have no schema: an interface method, or one generated with `messages=json`.
 *
 * Generated code does not refer to the descriptor, so that browser bundles without a call of this function do not contain
 * it. The function finds it through the proto files of the method's messages. Throws a `TypeError` if both messages are
 * declared in other files than the rpc, unless the code was generated with `descriptors=true`.
 */
export function descriptorOf(method: Method): DescMethod | undefined {
  if (method.payload !== undefined) return undefined;
  const descriptor = known.get(method) ?? method.descriptor?.() ?? find(method);
  known.set(method, descriptor);
  return descriptor;
}

function find({ input, output, service, name, path }: ProtoMethod): DescMethod {
  for (const { services } of [input.file, output.file]) {
    const found = services.find(({ typeName }) => typeName === service)?.methods.find((method) => method.name === name);
    if (found !== undefined) return found;
  }
  throw new TypeError(
    `the descriptor of ${path} cannot be found, because its messages are declared in other proto files: ` +
      "generate it with descriptors=true",
  );
}
