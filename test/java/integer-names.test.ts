/** Engines reserve up to 4 KB for an object whose only name is a small integer, so such names count among the values. */
import { hessian2 } from "triple-es/hessian2";
import { type JavaType, jsonSerialization } from "triple-es/java";
import { msgpack } from "triple-es/msgpack";
import { describe, expect, it } from "vitest";

const OBJECTS = 10_000;
const ANY: JavaType = "java.lang.Object";
const RECORDS: JavaType = { list: { map: ["java.lang.String", "int"], record: true } };

/** Objects with one member of the given name each. */
const objects = (name: string): unknown[] => Array.from({ length: OBJECTS }, () => ({ [name]: 1 }));

describe.each([hessian2, jsonSerialization, msgpack])("in $name", (serialization) => {
  it.each<[string, JavaType]>([
    ["values of any type", ANY],
    ["declared records", RECORDS],
  ])("%s of a name such as 322 are refused if they are many", (_, type) => {
    const decode = (name: string): unknown => serialization.decode(type, serialization.encode(type, objects(name)));
    for (const name of ["1", "a", "1e3", "2000", "4294967295"]) expect(decode(name)).toHaveLength(OBJECTS);
    // Hessian 2 decodes maps of any type to instances of Map, which have no such array.
    if (serialization === hessian2 && type === ANY) expect(decode("322")).toContainEqual(new Map([["322", 1]]));
    else expect(() => decode("322")).toThrow("the limit of 1000000 values");
  });
});
