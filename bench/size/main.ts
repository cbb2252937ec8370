/** Prints the bundle sizes of pages, and of what generated codecs import: `npm run size`. */
import { CODEC_FILES, codecRuntimeBytes } from "./codec-runtime.ts";
import { measureSizes } from "./pages.ts";

const columns = ["minified", "gzip", "brotli"] as const;
const sizes = Object.entries(await measureSizes());
const width = Math.max(...sizes.map(([name]) => name.length));
const line = (name: string, cells: readonly string[]): string =>
  [name.padEnd(width), ...cells.map((cell) => cell.padStart(9))].join(" ");

console.log(line("bytes of a page's bundle", columns));
for (const [name, size] of sizes) {
  console.log(
    line(
      name,
      columns.map((column) => size[column].toLocaleString("en")),
    ),
  );
}

console.log("\nbytes of the runtime that a generated codec imports, minified");
for (const [name, file] of Object.entries(CODEC_FILES)) {
  console.log(line(name, [(await codecRuntimeBytes(file)).toLocaleString("en")]));
}
