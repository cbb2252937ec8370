/** Names and strings in generated code. Everything printed between quotes goes through here. */

/**
 * Text that JSON leaves bare though tools that do not parse act on it: line separators, control characters of C1 and
 * controls of the bidirectional algorithm (CVE-2021-42574), the end of a script element, and the beginning of a comment
 * that names a source map.
 */
const delicate = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]|(?<=<)\/|(?<=\/)[/*](?=\s*[#@])/g;

/** A string as a TypeScript literal. JSON is a subset of TypeScript. */
export function literal(value: string): string {
  return JSON.stringify(value).replace(delicate, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A name as the key of a property: bare if it can be. */
export function propertyKey(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name);
}
