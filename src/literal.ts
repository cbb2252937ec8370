/** Names and strings in generated code. Everything printed between quotes goes through here. */

/**
 * A string as a TypeScript literal. JSON is a subset of TypeScript, but it leaves the two Unicode line separators bare,
 * which many tools still take for the end of a line.
 */
export function literal(value: string): string {
  return JSON.stringify(value).replace(/[\u2028\u2029]/g, (c) => (c === "\u2028" ? "\\u2028" : "\\u2029"));
}

/** A name as the key of a property: bare if it can be. */
export function propertyKey(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name);
}
