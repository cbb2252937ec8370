/** Names and strings in generated code. All quoted text is printed by this module. */

/**
 * Text that JSON does not escape, although tools that do not parse JavaScript interpret it: line separators, control
 * characters of C1, controls of the bidirectional algorithm (CVE-2021-42574), the end of a script element, and the
 * beginning of a source map comment.
 */
const delicate = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]|(?<=<)\/|(?<=\/)[/*](?=\s*[#@])/g;

/** Prints a string as a TypeScript literal. JSON is a subset of TypeScript. */
export function literal(value: string): string {
  return JSON.stringify(value).replace(delicate, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Prints a name as a property key, without quotes if possible. */
export function propertyKey(name: string): string {
  return isIdentifier(name) ? name : literal(name);
}

/** Prints the access to a property. A proto field `_1` is the property `1`. */
export function propertyAccess(object: string, name: string): string {
  return isIdentifier(name) ? `${object}.${name}` : `${object}[${literal(name)}]`;
}

const isIdentifier = (name: string): boolean => /^[A-Za-z_$][\w$]*$/.test(name);
