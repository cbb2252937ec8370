/** The names that Dubbo's Java code generator gives to a service and its methods. */
import type { DescMethod } from "@bufbuild/protobuf";

/**
 * Returns the Java names of a method and its service. The interface is in the `java_package`, or in the proto package
 * if that option is absent. Its simple name is the name of the service; the outer class has no influence. The first
 * letter of the method name becomes lower case.
 */
export function javaNames(method: DescMethod): { readonly service: string; readonly method: string } {
  const { file, name } = method.parent;
  const packageName = file.proto.options?.javaPackage || file.proto.package;
  return {
    service: packageName === "" ? name : `${packageName}.${name}`,
    method: method.name.charAt(0).toLowerCase() + method.name.slice(1),
  };
}
