/** Engines keep members of integer names in an array, 12 KB for the only name 1000, unless a far larger name came first. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { hessian2 } from "triple-es-dubbo/hessian2";
import { type JavaType, jsonSerialization } from "triple-es-dubbo/java";
import { msgpack } from "triple-es-dubbo/msgpack";
import { describe, expect, it } from "vitest";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const OBJECTS = 2_000;
/** Most memory of an object of one member, in bytes. */
const MAX_OBJECT_BYTES = 1_000;
const ANY: JavaType = "java.lang.Object";
const RECORDS: JavaType = { list: { map: ["java.lang.String", "int"], record: true } };

/** Returns the memory of each object that `make` creates, in bytes. */
function bytesOfEach(make: () => unknown): number {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const made = make();
  collectGarbage();
  const after = process.memoryUsage().heapUsed;
  expect(made).toHaveLength(OBJECTS);
  return (after - before) / OBJECTS;
}

describe.each([hessian2, jsonSerialization, msgpack])("in $name", (serialization) => {
  it.each<[string, JavaType]>([
    ["values of any type", ANY],
    ["declared records", RECORDS],
  ])("%s of a name such as 1000 take as much memory as others", (_, type) => {
    for (const name of ["1", "322", "1000", "9999", "4294967294"]) {
      const objects = Array.from({ length: OBJECTS }, () => ({ [name]: 1 }));
      const bytes = serialization.encode(type, objects);
      const [first] = serialization.decode(type, bytes) as unknown[];
      // Hessian 2 decodes maps of any type to instances of Map, which have no such array.
      expect(first).toEqual(serialization === hessian2 && type === ANY ? new Map([[name, 1]]) : { [name]: 1 });
      expect(bytesOfEach(() => serialization.decode(type, bytes))).toBeLessThan(MAX_OBJECT_BYTES);
    }
  });
});
