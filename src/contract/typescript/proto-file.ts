/**
 * Prints contracts as a proto file whose messages have the same JSON. Fields have explicit presence (`optional`), because
 * ProtoJSON omits the zero values of others. A type that protobuf has no type for is `google.protobuf.Value`, any JSON.
 */
import { fileHead, type OutputFile } from "../../print/file-head.ts";
import { lineComments } from "../../print/jsdoc.ts";
import { literal } from "../../print/literal.ts";
import type { Problems } from "../model/diagnostics.ts";
import { areEnumValues, defaultJsonName, fieldNames, pascal } from "./proto-names.ts";
import { assignNumbers, type Member, type Numbers } from "./proto-numbers.ts";
import { shapeOf, taggedFields } from "./tagged-fields.ts";
import { limitsOf, typeText } from "./type-text.ts";
import type {
  Constant,
  ContractMethod,
  ContractService,
  Form,
  MessageType,
  NamedType,
  TypeScriptContract,
  ValueRules,
  WireField,
  WireType,
} from "./wire-type.ts";

/** Messages of protobuf whose JSON is one scalar, for requests and responses. */
const WRAPPERS: Readonly<Record<string, string>> = {
  string: "StringValue",
  double: "DoubleValue",
  int32: "Int32Value",
  int64: "Int64Value",
  bool: "BoolValue",
  bytes: "BytesValue",
};

const IMPORTS: Readonly<Record<string, string>> = {
  "google.protobuf.Empty": "empty",
  "google.protobuf.Timestamp": "timestamp",
  "google.protobuf.Value": "struct",
};

/** Any JSON. */
const VALUE = "google.protobuf.Value";

/** The zero value that an enum of proto3 has. */
const ZERO_VALUE = "VALUE_UNSPECIFIED";

/** A field of a message, or a value of an enum, to be printed. */
interface Printed extends Member {
  readonly comment: readonly string[];
}

/** Prints the services of contracts. `path` is that of the file below the output folder, `previous` its earlier version. */
export function protoFile(
  contracts: readonly TypeScriptContract[],
  path: string,
  out: string,
  previous: ReadonlyMap<string, Numbers>,
  problems: Problems,
): OutputFile {
  const services = contracts.flatMap((contract) => contract.services);
  const packages = new Set(services.map(({ wireName }) => packageOf(wireName)));
  if (packages.size > 1) {
    const names = Array.from(packages, literal).join(", ");
    const problem = `a proto file has one package, and the services are in ${names}`;
    problems.error(
      (services[0] as ContractService).node,
      `${problem}; write a file for each, or name services with @service`,
    );
  }
  const [packageName = ""] = packages;
  const printer = new ProtoPrinter(services, previous, problems);
  const body = printer.print();
  const imports = Array.from(printer.imports, (name) => `import "google/protobuf/${name}.proto";`).sort();
  const parts = [
    'syntax = "proto3";',
    ...(packageName === "" ? [] : [`package ${packageName};`]),
    ...(imports.length === 0 ? [] : [imports.join("\n")]),
    ...body,
  ];
  const text = `${fileHead(`${out}/${path}`, contracts[0]?.file ?? "", [], "contract")}\n${parts.join("\n\n")}\n`;
  // A name is looked up in the parts of the package first, unless it begins with a dot.
  const isAmbiguous = packageName.split(".").includes("google");
  return { path, text: isAmbiguous ? text.replaceAll(/([ (])google\.protobuf\b/g, "$1.google.protobuf") : text };
}

class ProtoPrinter {
  readonly imports = new Set<string>();
  readonly #services: readonly ContractService[];
  readonly #previous: ReadonlyMap<string, Numbers>;
  readonly #problems: Problems;
  readonly #names = new Set<string>();
  /** The names of messages. A type without a name may be in an array or a map that it contains itself. */
  readonly #known = new Map<NamedType | WireType, string>();
  /** Prints messages that others refer to. */
  readonly #queue: (() => string)[] = [];

  constructor(services: readonly ContractService[], previous: ReadonlyMap<string, Numbers>, problems: Problems) {
    this.#services = services;
    this.#previous = previous;
    this.#problems = problems;
  }

  print(): string[] {
    for (const { wireName } of this.#services) this.#claim(simpleName(wireName));
    const printed = this.#services.map((service) => {
      const methods = service.methods.map((method) => this.#method(method, service)).join("\n");
      const option = service.deprecated ? "  option deprecated = true;\n" : "";
      return `${comments(service.comment)}service ${simpleName(service.wireName)} {\n${option}${methods}}`;
    });
    for (const print of this.#queue) printed.push(print());
    return printed;
  }

  #method(method: ContractMethod, service: ContractService): string {
    const { name, kind, comment, request, response, deprecated } = method;
    if (!/^[A-Za-z_]\w*$/.test(name)) {
      const problem = "a method of a proto file has letters, digits and _ in its name; rename it";
      this.#problems.error(service.node, `${service.name}.${name}: ${problem}`);
    }
    const stream = (side: string): string =>
      kind === `${side}_streaming` || kind === "bidi_streaming" ? "stream " : "";
    const input = stream("client") + this.#message(request, `${pascal(name)}Request`);
    const output = stream("server") + this.#message(response, `${pascal(name)}Response`);
    const notes = [
      ...(request && input.endsWith(VALUE) ? [`The request is JSON of ${typeText(request.wire)}.`] : []),
      ...(response && output.endsWith(VALUE) ? [`The response is JSON of ${typeText(response.wire)}.`] : []),
    ];
    const end = deprecated && !service.deprecated ? " {\n    option deprecated = true;\n  }" : ";";
    return `${comments([...comment, ...notes], "  ")}  rpc ${name}(${input}) returns (${output})${end}\n`;
  }

  /** Returns the message of a request or a response. One that is no object has the JSON of its value. */
  #message(message: MessageType | undefined, name: string): string {
    if (message === undefined) return this.#import("google.protobuf.Empty");
    const shape = shapeOf(message.wire);
    const isText = shape.kind === "constant" && typeof shape.values[0] === "string";
    const type = isText ? "string" : this.#type(message.wire, name);
    const wrapper = WRAPPERS[type];
    if (wrapper === undefined) return type;
    this.imports.add("wrappers");
    return `google.protobuf.${wrapper}`;
  }

  /** Returns the type of a value. `name` is that of a message or an enum without a name. */
  #type(given: WireType, name: string): string {
    const type = shapeOf(given);
    switch (type.kind) {
      case "string":
      case "bytes":
        return type.kind;
      case "number":
        return isInt32(type.rules) ? "int32" : "double";
      case "boolean":
        return "bool";
      case "bigint":
        return "int64";
      case "date":
        return this.#import("google.protobuf.Timestamp");
      case "constant":
        return this.#constants(type.values, given, name);
      case "object":
      case "tagged":
        return this.#declared(given, name, (own) => this.#body(own, type, commentOf(given)));
      default:
        return this.#import(VALUE);
    }
  }

  #constants(values: readonly Constant[], given: WireType, name: string): string {
    if (typeof values[0] === "boolean") return "bool";
    if (typeof values[0] === "number") return values.every((one) => one === ((one as number) | 0)) ? "int32" : "double";
    if (values[0] === null) return this.#import(VALUE);
    const all = [ZERO_VALUE, ...(values as string[])];
    if (!areEnumValues(all)) return "string";
    // Values share the scope of their enum, so a message around it keeps equal values of enums apart.
    const holder = this.#declared(given, name, (own) => {
      const members = all.map((value): Printed => ({ name: value, jsonName: value, type: "", comment: [] }));
      const lines = this.#numbered(`${own}.Value`, members, 0, "    ");
      return `${comments(commentOf(given))}message ${own} {\n  enum Value {\n${lines}  }\n}`;
    });
    return `${holder}.Value`;
  }

  /** Returns the name of a message that is declared once. */
  #declared(given: WireType, name: string, print: (own: string) => string): string {
    const type = given.kind === "named" ? given.shape : given;
    const known = this.#known.get(type);
    if (known !== undefined) return known;
    const own = this.#claim(pascal(given.kind === "named" ? given.shape.name : name));
    this.#known.set(type, own);
    this.#queue.push(() => print(own));
    return own;
  }

  #body(own: string, type: WireType & { kind: "object" | "tagged" }, comment: readonly string[]): string {
    const fields = type.kind === "object" ? type.fields : taggedFields(type);
    const names = fieldNames(fields.map(({ name }) => name));
    const printed = fields.map((field, index) => this.#field(own, field, names[index] as string));
    const lines = this.#numbered(own, printed, 1, "  ");
    return `${comments(comment)}message ${own} {${lines === "" ? "" : `\n${lines}`}}`;
  }

  #field(own: string, field: WireField, name: string): Printed {
    const { name: jsonName, isOptional } = field;
    const inner = own + pascal(jsonName);
    const path = `${own}.${jsonName}`;
    const { node } = this.#services[0] as ContractService;
    if (/^\[.*\]$|\0/.test(jsonName)) {
      this.#problems.error(node, `${path}: a field of a proto file cannot be called so; rename it`);
    }
    const { type: given, isNullable } = withoutNull(field.type);
    const type = shapeOf(given);
    const isList = type.kind === "array";
    const isMap = type.kind === "record" || type.kind === "map";
    const key = isMap && type.key.kind !== "string" ? "int64" : "string";
    const text = isList
      ? `repeated ${this.#type(type.item, inner)}`
      : isMap
        ? `map<${key}, ${this.#type(type.value, inner)}>`
        : this.#type(given, inner);
    const isEmpty = isList || isMap;
    const states = [isOptional && "absent", isNullable && "null", isEmpty && "empty"].filter((one) => one !== false);
    if (states.length > 1 && text !== VALUE) {
      const problem = `${path}: protobuf cannot tell ${states.join(" from ")}, which programs of the proto file mix up`;
      this.#problems.warn(node, problem);
    }
    const isUntyped = text.includes(VALUE) || (type.kind === "constant" && text === "string");
    const notes = [
      ...limitsOf(type),
      ...(isUntyped ? [`JSON of ${typeText(field.type)}`] : []),
      ...(isOptional ? ["may be absent"] : isNullable && !isEmpty ? ["absent for null"] : []),
    ];
    const note = notes.join("; ");
    return {
      name,
      jsonName,
      type: text,
      comment: [...field.comment, ...(note === "" ? [] : [`${note.charAt(0).toUpperCase()}${note.slice(1)}.`])],
    };
  }

  #numbered(name: string, members: readonly Printed[], first: number, indent: string): string {
    const { numbers, reserved } = assignNumbers(members, this.#previous.get(name), first);
    const lines = members.map((member, index) => {
      const { type, name: own, jsonName, comment } = member;
      const isDefault = type === "" || defaultJsonName(own) === jsonName;
      const option = isDefault ? "" : ` [json_name = ${literal(jsonName)}]`;
      const words = [hasPresence(type) ? "" : "optional", type, own].filter((word) => word !== "").join(" ");
      return `${comments(comment, indent)}${indent}${words} = ${numbers[index]}${option};\n`;
    });
    return [...reserved.map((line) => `${indent}${line}\n`), ...lines].join("");
  }

  #import(type: string): string {
    this.imports.add(IMPORTS[type] as string);
    return type;
  }

  #claim(wanted: string): string {
    let name = wanted;
    for (let count = 2; this.#names.has(name); count++) name = `${wanted}${count}`;
    this.#names.add(name);
    return name;
  }
}

function packageOf(wireName: string): string {
  return wireName.slice(0, Math.max(wireName.lastIndexOf("."), 0));
}

function simpleName(wireName: string): string {
  return wireName.slice(wireName.lastIndexOf(".") + 1);
}

function comments(lines: readonly string[], indent = ""): string {
  return lineComments(lines)
    .map((line) => `${indent}${line}\n`)
    .join("");
}

/** Splits a type that is null or another one. */
function withoutNull(given: WireType): { type: WireType; isNullable: boolean } {
  const type = shapeOf(given);
  if (type.kind !== "union" || type.types.size !== 2 || !type.types.has("null"))
    return { type: given, isNullable: false };
  const [[, other]] = [...type.types].filter(([form]) => form !== "null") as [[Form, WireType]];
  return { type: other, isNullable: true };
}

/** Reports whether a field of the type needs no label `optional`. */
function hasPresence(type: string): boolean {
  return /^(?:$|repeated |map<|google\.protobuf\.|[A-Z]\w*$)/.test(type);
}

function commentOf(type: WireType): readonly string[] {
  return type.kind === "named" ? type.shape.comment : [];
}

function isInt32({ int, min = Number.NaN, max = Number.NaN }: ValueRules): boolean {
  return int === true && min >= -(2 ** 31) && max < 2 ** 31;
}
