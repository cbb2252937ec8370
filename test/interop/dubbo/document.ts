/** Writes the interoperability matrix into docs/interop.md, between two markers. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../support/documents.ts";

const PAGE = join(ROOT, "docs", "interop.md");
const MARKED = /(<!-- matrix: npm run interop:dubbo -- --write -->\n)([\s\S]*?)(<!-- end of the matrix -->)/;

/** Puts the matrix into the page, with versions and date. */
export function writeDocument(versions: string, matrix: string): void {
  const date = new Date().toISOString().slice(0, 10);
  const text = readFileSync(PAGE, "utf8");
  if (!MARKED.test(text)) throw new Error(`${PAGE} has no marks for the matrix`);
  writeFileSync(
    PAGE,
    text.replace(MARKED, (_, start, __, end) => `${start}\nRun on ${date}: ${versions}.\n\n${matrix}\n${end}`),
  );
}

/** Returns the problem if the matrix of the page differs from the results. */
export function checkDocument(matrix: string): string[] {
  const written = MARKED.exec(readFileSync(PAGE, "utf8"))?.[2] ?? "";
  return written.includes(matrix) ? [] : ["docs/interop.md has another matrix; npm run interop:dubbo -- --write"];
}
