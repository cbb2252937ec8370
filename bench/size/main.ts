/** Prints the bundle sizes of pages: `npm run size`. */
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
