/** Class names in one Java file: short names if they are unambiguous, with an import if necessary. */
import { classOfJdk } from "../model/java-name.ts";
import type { JavaTypeModel } from "../model/java-type.ts";

/** Splits a full name: `com.acme.Outer$Inner` is in the package `com.acme`, inside `Outer`. */
export function splitName(javaName: string): { packageName: string; names: [top: string, ...nested: string[]] } {
  const dot = javaName.lastIndexOf(".");
  const [top = "", ...nested] = javaName.slice(dot + 1).split("$");
  return { packageName: dot < 0 ? "" : javaName.slice(0, dot), names: [top, ...nested] };
}

export class JavaImports {
  readonly #packageName: string;
  readonly #taken: ReadonlySet<string>;
  /** Full names by short name. */
  readonly #imported = new Map<string, string>();

  /** `taken` contains short names with another meaning in the file: classes of the package, and nested classes. */
  constructor(packageName: string, taken: Iterable<string>) {
    this.#packageName = packageName;
    this.#taken = new Set(taken);
  }

  /** Returns the name of the class in this file, and adds an import if necessary. */
  name(javaName: string): string {
    const { packageName, names } = splitName(classOfJdk(javaName) ?? javaName);
    const [top] = names;
    const full = packageName === "" ? top : `${packageName}.${top}`;
    const canBeShort =
      packageName === this.#packageName || (!this.#taken.has(top) && (this.#imported.get(top) ?? full) === full);
    if (canBeShort && packageName !== this.#packageName) this.#imported.set(top, full);
    return [canBeShort ? top : full, ...names.slice(1)].join(".");
  }

  type(type: JavaTypeModel): string {
    switch (type.kind) {
      case "named":
        return type.name === "[B" ? "byte[]" : /\./.test(type.name) ? this.name(type.name) : type.name;
      case "list":
        return `${this.name("java.util.List")}<${this.type(type.element)}>`;
      case "set":
        return `${this.name("java.util.Set")}<${this.type(type.element)}>`;
      case "map":
        return `${this.name("java.util.Map")}<${this.type(type.key)}, ${this.type(type.value)}>`;
      case "array":
        return `${this.type(type.element)}[]`;
      case "class": {
        const args = type.args.map((arg) => this.type(arg)).join(", ");
        return `${this.name(type.shape.javaName)}${args === "" ? "" : `<${args}>`}`;
      }
      case "enum":
        return this.name(type.shape.javaName);
      case "variable":
        return type.name;
    }
  }

  /** Returns the import statements, sorted. Classes of `java.lang` need no import. */
  statements(): string[] {
    return [...this.#imported.values()]
      .filter((full) => splitName(full).packageName !== "java.lang")
      .sort()
      .map((full) => `import ${full};`);
  }
}
