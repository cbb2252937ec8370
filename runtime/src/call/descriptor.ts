/**
 * Descriptors of methods: an rpc as its proto file declares it, with custom options.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import type { Method, ProtoMethod } from "./method.ts";

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
