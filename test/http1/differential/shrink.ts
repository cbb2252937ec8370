/** Makes an input shorter as long as it is a finding. */
import type { Input } from "./messages.ts";

/** `find` returns the first of the candidates that is a finding. */
export async function shrink(
  input: Input,
  find: (candidates: readonly Input[]) => Promise<Input | undefined>,
): Promise<Input> {
  let best = input;
  for (let size = Math.ceil(input.text.length / 2); size > 0; ) {
    const { text, ends } = best;
    const candidates: Input[] = [];
    for (let at = 0; at + size <= text.length; at += size) {
      const shorter = { ...best, text: text.slice(0, at) + text.slice(at + size) };
      // Chunks end at the same bytes as before.
      candidates.push({ ...shorter, ends: ends.map((end) => (end < at ? end : Math.max(at, end - size))) });
    }
    const found = await find(candidates);
    if (found !== undefined) best = found;
    else size = Math.floor(size / 2);
  }
  return best;
}
