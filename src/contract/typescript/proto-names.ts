/** Names in proto files. */

/** Returns the name that ProtoJSON derives from the name of a field. */
export function defaultJsonName(name: string): string {
  return name.replace(/_+(.?)/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns the names of fields. None is the name of another field in JSON, or equal to another but for case. */
export function fieldNames(jsonNames: readonly string[]): string[] {
  const taken = new Set<string>();
  return jsonNames.map((jsonName) => {
    const wanted = snake(jsonName);
    const isFree = (name: string): boolean =>
      !taken.has(plain(name)) && (name === jsonName || !jsonNames.includes(name));
    let name = wanted;
    for (let count = 2; !isFree(name); count++) name = `${wanted}_${count}`;
    taken.add(plain(name));
    return name;
  });
}

/** Reports whether names can be the values of one enum `Value`, which must differ without case and that prefix. */
export function areEnumValues(values: readonly string[]): boolean {
  const names = values.map((value) => plain(value).replace(/^value/, ""));
  const isName = (value: string): boolean => /^[A-Za-z_]\w*$/.test(value) && value !== "option" && value !== "reserved";
  return new Set(names).size === names.length && values.every(isName);
}

/** Returns a name as protobuf compares it with others. */
function plain(name: string): string {
  return name.replaceAll("_", "").toLowerCase();
}

/** Returns a name in PascalCase, for messages and enums. */
export function pascal(name: string): string {
  const words = name.match(/[A-Za-z0-9]+/g) ?? [];
  const joined = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  return /^[A-Z]/.test(joined) ? joined : `Type${joined}`;
}

/** Returns a name in snake_case, for fields. */
function snake(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").match(/[A-Za-z0-9]+/g) ?? [];
  const joined = words.join("_").toLowerCase();
  return /^[a-z]/.test(joined) ? joined : ["field", ...(joined === "" ? [] : [joined])].join("_");
}
