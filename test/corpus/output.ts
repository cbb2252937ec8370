/** Generated files on disk. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export function writeFiles(
  folder: string,
  files: readonly { readonly name: string; readonly content: string }[],
): void {
  for (const { name, content } of files) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
}
