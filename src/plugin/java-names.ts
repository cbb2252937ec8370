/** The names under which Dubbo's Java compiler makes a service. */
import type { DescMethod } from "@bufbuild/protobuf";

/**
 * The interface stands in the `java_package`, or else in the proto package, and is called like the service whatever the
 * outer class is. Its method begins with a small letter; nothing else about it changes.
 */
export function javaNames(method: DescMethod): { readonly service: string; readonly method: string } {
  const { file, name } = method.parent;
  const packageName = file.proto.options?.javaPackage || file.proto.package;
  return {
    service: packageName === "" ? name : `${packageName}.${name}`,
    method: method.name.charAt(0).toLowerCase() + method.name.slice(1),
  };
}
