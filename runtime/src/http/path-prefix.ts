/**
 * Creates the function that removes a path prefix, such as `/api`, from request targets. A target outside the prefix is
 * returned without its leading slash, so that it matches no method: otherwise a call could bypass the middleware that
 * protects the prefix. Throws a `TypeError` for a prefix that does not start with a slash.
 */
export function pathsBelow(prefix = ""): (target: string) => string {
  if (!`${prefix}/`.startsWith("/")) throw new TypeError(`prefix "${prefix}" must start with "/"`);
  let end = prefix.length;
  while (prefix[end - 1] === "/") end--;
  const below = prefix.slice(0, end);
  if (below === "") return (target) => target;
  return (target) => (target.startsWith(`${below}/`) ? target.slice(below.length) : target.replace(/^\/+/, ""));
}

/**
 * Returns the prefix that has been removed from a target, such as `/api`; empty if there is none. It has one leading slash:
 * with two, it would be the address of another host (RFC 3986, section 4.2).
 */
export function removedPrefix(target: string, path: string): string {
  return target.endsWith(path) ? target.slice(0, -path.length).replace(/^\/+/, "/") : "";
}
