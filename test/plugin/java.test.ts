/** The Java names of services and methods, which Dubbo for Java serves. */
import { describe, expect, it } from "vitest";
import { compile, requestFor, run } from "./support/protos.ts";

function javaOf(head: string, parameter = "target=ts,java_names=true"): string[] {
  const set = compile({
    "a.proto": `syntax = "proto3";\n${head}\nservice S { rpc GetURL(M) returns (M); rpc list(M) returns (M); }\nmessage M {}`,
  });
  return (
    run(requestFor(set, parameter))
      .get("a_triple.ts")
      ?.match(/^ {2}alias: .*/gm) ?? []
  );
}

describe("java_names", () => {
  it("takes the service from the Java package, and the method with a lower-case first letter", () => {
    expect(javaOf('package a.v1;\noption java_package = "org.acme";\noption java_outer_classname = "Outer";')).toEqual([
      '  alias: { service: "org.acme.S", method: "getURL" },',
      '  alias: { service: "org.acme.S", method: "list" },',
    ]);
  });

  it("uses the proto package without a Java package, and no package without either", () => {
    expect(javaOf("package a.v1;")[0]).toContain('service: "a.v1.S"');
    expect(javaOf("")[0]).toContain('service: "S"');
  });

  it("is off by default", () => {
    expect(javaOf('option java_package = "org.acme";', "target=ts")).toEqual([]);
  });
});
