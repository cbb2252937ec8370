/** The .proto files of a project, for what generated code does not show: the oneofs of ts-proto, and names of google-protobuf. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { protoCamelCase, safeObjectProperty } from "@bufbuild/protobuf/reflect";
import { ts } from "ts-morph";

/** A field, with the names of protoc-gen-es. */
export interface ProtoField {
  readonly oneof: string | undefined;
  readonly name: string;
  /** True for integers of 64 bits, which are a `bigint`. */
  readonly isBig: boolean;
  readonly isText: boolean;
  readonly number: number;
  /** The place among the fields of the oneof. */
  readonly index: number;
}

/** The fields of a message, by their names without underscores and capitals. */
export type ProtoMessage = ReadonlyMap<string, ProtoField>;

const TOKEN = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[\w.]+|[^\s\w]/g;

/** The tokens of a proto file, without comments. */
export function tokensOf(text: string): string[] {
  return (text.match(TOKEN) ?? []).filter((token) => !token.startsWith("//") && !token.startsWith("/*"));
}

/** The name of a field or message, which ts-proto writes in another case. */
export function plainName(name: string): string {
  return name.replaceAll(/[_.]/g, "").toLowerCase();
}

/** The name of a field in protobuf-es. */
export function localName(name: string): string {
  return safeObjectProperty(protoCamelCase(name));
}

const BIG = ["int64", "uint64", "sint64", "fixed64", "sfixed64"];

/** The braces around a token. */
interface Block {
  /** The names of the messages around, joined. */
  readonly path: string;
  readonly isValue?: boolean;
  readonly fields?: Map<string, ProtoField>;
  /** The names of the values of an enum. */
  readonly values?: string[];
  readonly oneof?: string;
  index: number;
}

/** The messages and enums of the .proto files in a folder, and of those in the repository around it. */
export class ProtoFiles {
  readonly #folders: string[];
  readonly #messages = new Map<string, Map<string, ProtoField>>();
  readonly #enums = new Map<string, string[]>();

  constructor(folder: string) {
    let top = folder;
    while (!existsSync(join(top, ".git")) && dirname(top) !== top) top = dirname(top);
    this.#folders = existsSync(join(top, ".git")) && top !== folder ? [folder, top] : [folder];
  }

  /** Returns a message by its name, in which nested ones are joined. */
  message(packageName: string, name: string): ProtoMessage | undefined {
    return this.#find(this.#messages, packageName, name);
  }

  /** Returns the names of the values of an enum. */
  enum(packageName: string, name: string): readonly string[] | undefined {
    return this.#find(this.#enums, packageName, name);
  }

  /** Files are read when they are needed. */
  #find<T>(all: ReadonlyMap<string, T>, packageName: string, name: string): T | undefined {
    const key = keyOf(packageName, name);
    while (!all.has(key) && this.#folders.length > 0) {
      const files = ts.sys.readDirectory(this.#folders.shift() as string, [".proto"], ["**/node_modules"]);
      for (const file of files) this.#read(readFileSync(file, "utf8"));
    }
    return all.get(key);
  }

  #read(text: string): void {
    let packageName = "";
    let statement: string[] = [];
    const blocks: Block[] = [];
    for (const token of tokensOf(text)) {
      const outer = blocks.at(-1);
      const [word = "", name = ""] = statement;
      if (token === "}") blocks.pop();
      else if (outer?.isValue && token !== "{") continue;
      else if (token === "{") {
        const path = outer?.path ?? "";
        // The braces of an option's value are part of its statement.
        if (statement.includes("=")) blocks.push({ path, isValue: true, index: 0 });
        else {
          if (word === "message") {
            const fields = first(this.#messages, keyOf(packageName, path + name), new Map());
            blocks.push({ path: path + name, fields, index: 0 });
          } else if (word === "enum") {
            const values = first(this.#enums, keyOf(packageName, path + name), []);
            blocks.push({ path, values, index: 0 });
          } else if (word === "oneof" && outer) blocks.push({ ...outer, oneof: localName(name), index: 0 });
          else blocks.push({ path, index: 0 });
          statement = [];
        }
      } else if (token !== ";") statement.push(token);
      else {
        if (word === "package") packageName = name;
        const end = statement.indexOf("=");
        const own = statement[end - 1];
        if (outer && word !== "option" && own !== undefined) {
          const type = statement[end - 2] ?? "";
          outer.fields?.set(plainName(own), {
            oneof: outer.oneof,
            name: localName(own),
            isBig: BIG.includes(type),
            isText: type === "string",
            number: Number(statement[end + 1]),
            index: outer.index++,
          });
          outer.values?.push(own);
        }
        statement = [];
      }
    }
  }
}

function keyOf(packageName: string, name: string): string {
  return `${packageName} ${plainName(name)}`;
}

/** The declaration with a name. The first of several files that have one counts. */
function first<T>(all: Map<string, T>, key: string, declared: T): T {
  if (!all.has(key)) all.set(key, declared);
  return declared;
}
