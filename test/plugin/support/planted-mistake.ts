/**
 * A mistake that is added to the files that a test type-checks. A compiler checks no types in a program with a file that
 * does not parse, so the absence of diagnostics proves something only if the planted mistake is reported.
 */
export const PLANTED_NAME = "planted-mistake.ts";
export const PLANTED_SOURCE = "export const planted: MissingOnPurpose = 1;\n";

/** A diagnostic is a line and the indented lines below it. */
const ENTRY = /\n(?! )/;

/** A diagnostic about a declaration file of another package, which this repository cannot fix. */
const FOREIGN = /^[^(]*node_modules\//;

/**
 * Returns the diagnostics in a compiler's output without the planted one and those of other packages. Throws if the planted
 * mistake is missing, and for a file that does not parse (TS1000 to TS1999), because the compiler has checked nothing then.
 */
export function judgedDiagnostics(output: string): string[] {
  const entries = output.split(ENTRY).filter((entry) => entry.trim() !== "");
  const syntactic = entries.filter((entry) => /error TS1\d{3}:/.test(entry));
  if (syntactic.length > 0) throw new Error(`no types were checked, because of:\n${syntactic.join("\n")}`);
  const isPlanted = (entry: string): boolean => entry.includes(PLANTED_NAME) && entry.includes("'MissingOnPurpose'");
  if (!entries.some(isPlanted)) throw new Error(`no types were checked: ${PLANTED_NAME} was not reported:\n${output}`);
  return entries.filter((entry) => !isPlanted(entry) && !FOREIGN.test(entry));
}
