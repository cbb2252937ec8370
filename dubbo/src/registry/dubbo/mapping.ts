/**
 * The mapping from a service to the applications that provide it: a list of names, separated by commas. Providers add
 * their application, by compare-and-set, and never remove one.
 */

export function parseMapping(content: string | undefined): string[] {
  const names = (content ?? "").split(",").map((name) => name.trim());
  return [...new Set(names.filter((name) => name !== ""))];
}

/** Returns the mapping with the application; `undefined` if it is there already. */
export function addToMapping(content: string | undefined, application: string): string | undefined {
  const names = parseMapping(content);
  return names.includes(application) ? undefined : [...names, application].join(",");
}
