/** Errors and warnings about contracts. They are collected, so that one run reports all of them. */
import { relative } from "node:path";
import type { Node, SourceFile } from "ts-morph";

/** A position in a file. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export function placeOf(node: Node): Place {
  const file = node.getSourceFile();
  return { file: file.getFilePath(), ...file.getLineAndColumnAtPos(node.getStart()) };
}

interface Problem extends Place {
  readonly severity: "error" | "warning";
  readonly message: string;
}

export class Problems {
  readonly #found = new Map<string, Problem>();
  readonly #folder: string;

  /** Paths are printed relative to `folder`. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  error(node: Node, message: string): void {
    this.errorAt(node.getSourceFile(), node.getStart(), message);
  }

  warn(node: Node, message: string): void {
    this.warnAt(node.getSourceFile(), node.getStart(), message);
  }

  warnAt(file: SourceFile, offset: number, message: string): void {
    this.#add(file, offset, "warning", message);
  }

  /** Adds an error at an offset of a file. */
  errorAt(file: SourceFile, offset: number, message: string): void {
    this.#add(file, offset, "error", message);
  }

  get hasErrors(): boolean {
    return [...this.#found.values()].some(({ severity }) => severity === "error");
  }

  /**
   * Returns one line for each problem, ordered by file and position, in a format that terminals and editors turn into
   * links.
   */
  lines(): string[] {
    return [...this.#found.values()]
      .sort((a, b) => (a.file === b.file ? a.line - b.line || a.column - b.column : a.file < b.file ? -1 : 1))
      .map(({ severity, message, ...place }) => `${this.format(place)}: ${severity}: ${message}`);
  }

  /** Formats a position as {@link lines} does. */
  format({ file, line, column }: Place): string {
    return `${relative(this.#folder, file).replaceAll("\\", "/")}:${line}:${column}`;
  }

  /** Adds a problem once, because a type that is used twice is read twice. */
  #add(sourceFile: SourceFile, offset: number, severity: Problem["severity"], message: string): void {
    const file = sourceFile.getFilePath();
    const { line, column } = sourceFile.getLineAndColumnAtPos(offset);
    this.#found.set(`${file}:${line}:${column}:${message}`, { file, line, column, severity, message });
  }
}
