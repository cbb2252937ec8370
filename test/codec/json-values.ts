/** Changes JSON values at random, for comparing readers of JSON. */
import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Random } from "./binary/values.ts";

/** JSON text of values that are unusual, or that some type does not allow. */
const UNUSUAL = `
null true false 0 -0 1 -1 -5 7 1.5 1e2 300 2147483647 2147483648 -2147483649 4294967295 4294967296 9007199254740993 1e20 1e21
3.5e38 -1e300 1e400 "" "0" "-0" "12" "-7" "012" "\\u00201" "1\\u0020" "0x10" "1e2" "1.5" "18446744073709551615" "-9223372036854775809" "true"
"NaN" "Infinity" "-Infinity" "AQ" "AQ==" "-_8" "+/8=" "A" "A===" "AQ==AQ==" "\\ud800" "\\ud83d\\ude00" "O_ONE" "C_MINUS" "NONE"
"2026-11-30T06:00:00Z" [] {} [null] [[]] [1,null] ["1"] {"a":null} {"1":1,"01":1} {"-0":1} {"true":true,"false":false}
{"__proto__":1} {"__proto__":{}} {"constructor":"a"} {"\\ud800":1} {"value":1} [{}] [{"__proto__":{}}]`
  .trim()
  .split(/\s+/);

const unusual = (random: Random): JsonValue => JSON.parse(UNUSUAL[random(UNUSUAL.length)] as string) as JsonValue;

/** Returns JSON of a message with a few changes. */
export function changeJson(type: DescMessage, json: JsonValue, random: Random): JsonValue {
  const root = JSON.parse(JSON.stringify(json)) as JsonValue;
  for (let changes = random(3); changes >= 0; changes--) {
    const objects = objectsIn(root);
    const object = objects[random(objects.length)];
    if (object === undefined) return unusual(random);
    const field = type.fields[random(type.fields.length)];
    const keys = Object.keys(object);
    const key = keys[random(keys.length)] ?? "";
    switch (random(field === undefined ? 3 : 6)) {
      case 0:
        set(object, key, unusual(random));
        break;
      case 1:
        delete object[key];
        break;
      case 2:
        set(object, ["unknown", "__proto__", "toString", "[ext]", ""][random(5)] as string, unusual(random));
        break;
      case 3:
        set(object, field?.name ?? "", object[field?.jsonName ?? ""] ?? unusual(random));
        if (random(2) === 0) delete object[field?.jsonName ?? ""];
        break;
      default:
        set(object, (random(4) === 0 ? field?.name : field?.jsonName) ?? "", unusual(random));
    }
  }
  return root;
}

function set(object: JsonObject, key: string, value: JsonValue): void {
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Returns the objects and arrays of a value, itself first and more often. */
function objectsIn(value: JsonValue): JsonObject[] {
  if (typeof value !== "object" || value === null) return [];
  return [value as JsonObject, ...Object.values(value).flatMap(objectsIn)];
}
