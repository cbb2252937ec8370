/**
 * Results that depend on a text which peers send, such as a content type, and which few texts make different.
 */

/** Maximum number of results. Peers send few different texts; an attacker could fill the memory with many. */
const MAX_REMEMBERED = 100;
/** Maximum length of a remembered text, in characters. */
const MAX_REMEMBERED_LENGTH = 200;

/** Returns a function that remembers its results. `compute` must depend on the text only. */
export function remember<Result>(compute: (text: string) => Result): (text: string) => Result {
  const results = new Map<string, Result>();
  return (text) => {
    const known = results.get(text);
    if (known !== undefined || results.has(text)) return known as Result;
    const result = compute(text);
    if (text.length > MAX_REMEMBERED_LENGTH) return result;
    if (results.size >= MAX_REMEMBERED) results.clear();
    results.set(text, result);
    return result;
  };
}
