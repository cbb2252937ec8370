/** The oneofs in the .proto files of a project: code of ts-proto does not show which fields are in one. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { protoCamelCase, safeObjectProperty } from "@bufbuild/protobuf/reflect";
import { ts } from "ts-morph";

/** A field of a oneof, with the names of protoc-gen-es. */
export interface ProtoField {
  readonly oneof: string;
  readonly name: string;
  /** The place among the fields of the oneof. */
  readonly index: number;
}

/** The fields of a message that are in oneofs, by their names without underscores and capitals. */
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

/** The braces around a token. */
interface Block {
  /** The names of the messages around, joined. */
  readonly path: string;
  readonly isValue?: boolean;
  /** The fields of the message that are in oneofs. */
  readonly fields?: Map<string, ProtoField>;
  readonly oneof?: string;
  index: number;
}

/** The messages of the .proto files in a folder, and of those in the repository around it. */
export class ProtoFiles {
  readonly #folders: string[];
  readonly #messages = new Map<string, ProtoMessage>();

  constructor(folder: string) {
    let top = folder;
    while (!existsSync(join(top, ".git")) && dirname(top) !== top) top = dirname(top);
    this.#folders = existsSync(join(top, ".git")) && top !== folder ? [folder, top] : [folder];
  }

  /** Returns a message by its name, in which nested ones are joined. Files are read when they are needed. */
  message(packageName: string, name: string): ProtoMessage | undefined {
    const key = `${packageName} ${plainName(name)}`;
    while (!this.#messages.has(key) && this.#folders.length > 0) {
      const files = ts.sys.readDirectory(this.#folders.shift() as string, [".proto"], ["**/node_modules"]);
      for (const file of files) this.#read(readFileSync(file, "utf8"));
    }
    return this.#messages.get(key);
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
          if (word === "message") blocks.push(this.#message(packageName, path + name));
          else if (word === "oneof" && outer) blocks.push({ ...outer, oneof: localName(name), index: 0 });
          else blocks.push({ path, index: 0 });
          statement = [];
        }
      } else if (token !== ";") statement.push(token);
      else {
        if (word === "package") packageName = name;
        const own = statement[statement.indexOf("=") - 1];
        if (outer?.oneof !== undefined && word !== "option" && own !== undefined)
          outer.fields?.set(plainName(own), { oneof: outer.oneof, name: localName(own), index: outer.index++ });
        statement = [];
      }
    }
  }

  /** The block of a message. The first of several files that declare it counts. */
  #message(packageName: string, path: string): Block {
    const key = `${packageName} ${plainName(path)}`;
    const fields = new Map<string, ProtoField>();
    if (!this.#messages.has(key)) this.#messages.set(key, fields);
    return { path, fields, index: 0 };
  }
}
