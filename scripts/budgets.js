/** Prints the budgets of the repository beside their limits, and fails above a limit. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Documents of tables that `npm run generate` writes, and the results of planted faults. */
const GENERATED = ["docs/options.md", "docs/dubbo-options.md", "test/simulation/mutants/README.md"];

/** The budgets: the name, a function that measures, and the limit. */
const BUDGETS = [["words of documents", countWords, 40_000]];

for (const [name, measure, limit] of BUDGETS) {
  const value = measure();
  if (value > limit) process.exitCode = 1;
  console.log(`${name} ${value.toLocaleString("en")} of ${limit.toLocaleString("en")}`);
}

/** The words of all documents, code included, without generated tables. A word has a letter or a digit. */
function countWords() {
  const tracked = execFileSync("git", ["ls-files", "*.md"], { cwd: root, encoding: "utf8" }).trim().split("\n");
  const documents = tracked.filter((file) => !file.startsWith("fixtures/") && !GENERATED.includes(file));
  return documents
    .map((file) => readFileSync(join(root, file), "utf8"))
    .map((text) => text.replace(/<!-- matrix:.*?<!-- end of the matrix -->/s, ""))
    .flatMap((text) => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word))).length;
}
