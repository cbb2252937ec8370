/** Values of services without IDL in Protocol Buffers. */
import { create, isMessage, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, StringValueSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { createProtobufSerialization, type JavaType } from "triple-es-dubbo/java";
import { describe, expect, it } from "vitest";
import { Cost } from "../../../dubbo/src/interface/cost.ts";
import { GreetRequestSchema } from "../../../examples/gen/greet/v1/greet_pb.ts";

const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text.replaceAll(" ", ""), "hex"));
const Greeting: JavaType = { class: () => ({ name: "com.acme.Greeting", fields: {} }) };
const protobuf = createProtobufSerialization({ "com.acme.Greeting": GreetRequestSchema });

describe("the serialization protobuf", () => {
  it.each<[JavaType, unknown]>([
    ["boolean", true],
    ["byte", -128],
    ["short", -300],
    ["java.lang.Integer", 5],
    ["long", 2n ** 62n],
    ["float", 0.5],
    ["double", 0.1],
    ["char", "ß"],
    ["java.lang.String", "世界"],
    ["[B", Uint8Array.of(1, 2)],
    [{ array: "byte" }, Uint8Array.of(1, 2)],
    ["java.util.Date", new Date(894_621_091_123)],
  ])("carries a %j", (type, value) => {
    expect(protobuf.decode(type, protobuf.encode(type, value))).toEqual(value);
  });

  it("carries classes that are messages, and their init shapes", () => {
    const bytes = protobuf.encode(Greeting, { name: "Ann" });
    expect(bytes).toEqual(toBinary(GreetRequestSchema, create(GreetRequestSchema, { name: "Ann" })));
    const message = protobuf.decode(Greeting, bytes);
    expect(isMessage(message, GreetRequestSchema) && message.name).toBe("Ann");
  });

  it("puts simple values into the wrappers of Protocol Buffers", () => {
    const bytes = toBinary(StringValueSchema, create(StringValueSchema, { value: "a" }));
    expect(protobuf.encode("java.lang.String", "a")).toEqual(bytes);
  });

  it.each<[JavaType, unknown, string]>([
    [{ list: "int" }, [1], "no message is known for java.util.List"],
    [{ class: () => ({ name: "com.acme.Other", fields: {} }) }, {}, "no message is known for com.acme.Other"],
    ["java.lang.String", null, "null is not a valid java.lang.String"],
    ["int", 2 ** 31, "2147483648 is not a valid int"],
    [Greeting, null, "null is not a valid com.acme.Greeting"],
    [Greeting, "Ann", '"Ann" is not a valid com.acme.Greeting'],
  ])("refuses what has no message: %j", (type, value, message) => {
    expect(() => protobuf.encode(type, value)).toThrow(message);
  });

  it("refuses a number that its type cannot have", () => {
    const bytes = protobuf.encode("int", 300);
    expect(protobuf.decode("short", bytes)).toBe(300);
    expect(() => protobuf.decode("byte", bytes)).toThrow("300 is not a valid byte");
  });

  it("refuses a time that no date holds, and a message of too many values before it is decoded", () => {
    const late = hex("08 ffffffffffffffff7f");
    expect(() => protobuf.decode("java.util.Date", late)).toThrow("is not a valid date");
    const File: JavaType = { class: () => ({ name: "com.acme.File", fields: {} }) };
    const files = createProtobufSerialization({ "com.acme.File": FileDescriptorProtoSchema });
    // The field `message_type`, each time an empty message.
    const bytes = (messages: number): Uint8Array => hex("2200".repeat(messages));
    expect(files.decode(File, bytes(1_000))).toMatchObject({ messageType: { length: 1_000 } });
    expect(() => files.decode(File, bytes(70_000))).toThrow("more than the limit of 65536 values");
    const cost = new Cost(10_000);
    files.decode(File, bytes(1_000), cost);
    expect(() => files.decode(File, bytes(5_000), cost)).toThrow("more than the limit of 10000");
  });

  it("decodes any bytes to a value or an error", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 50 }),
        fc.constantFrom<JavaType>("byte", Greeting, "[B"),
        (bytes, type) => {
          try {
            protobuf.decode(type, bytes);
          } catch (reason) {
            if (!(reason instanceof Error)) throw reason;
          }
        },
      ),
    );
  });
});
