/** Fields of messages of proto-loader, whose forms its options choose, as types of proto-loader-gen-types tell. */
import { ts } from "ts-morph";
import { isLoaded, messageOf, protoOf } from "./loader-names.ts";
import type { Migration } from "./migration.ts";
import { localName } from "./proto-files.ts";
import { messageType } from "./protobuf-messages.ts";

type View = Pick<Migration, "checker" | "declared">;

export interface LoadedField {
  /** The name in protobuf-es. */
  readonly name: string;
  readonly form: "long" | "enum" | "bytes" | "double" | "message" | "case" | "plain";
  readonly isList: boolean;
  /** The type of what proto-loader returns, as text. */
  readonly output: string;
  /** The declaration of its enum. */
  readonly of: ts.Declaration | undefined;
  /** The fields of the oneof that the field tells the set one of. */
  readonly cases: readonly string[];
  /** The oneof that the field is in. */
  readonly oneof: string | undefined;
  /** True if proto-loader omits the field where it has its default. */
  readonly isOmitted: boolean;
  /** True for an `optional` field of proto3. */
  readonly isOptional: boolean;
  /** The reason why the field has no counterpart. */
  readonly reason: string | undefined;
}

/** The field that a name in an access, a literal or a pattern refers to. */
export function loadedField(name: ts.Node, view: View): LoadedField | undefined {
  const literal = name.parent?.parent;
  const isGiven =
    (ts.isPropertyAssignment(name.parent) || ts.isShorthandPropertyAssignment(name.parent)) &&
    ts.isObjectLiteralExpression(literal) &&
    name.parent.name === name &&
    !ts.isComputedPropertyName(name);
  const type = isGiven ? view.checker.getContextualType(literal) : undefined;
  const types = type?.isUnion() ? type.types : [type];
  const given = types.flatMap((one) => one?.getProperty((name as ts.Identifier).text)?.declarations ?? [])[0];
  const field = isGiven ? given : (view.declared(name) ?? untypedField(name, view));
  const isField = field && ts.isPropertySignature(field) && isLoaded(field) && ts.isInterfaceDeclaration(field.parent);
  return isField && field.parent.name.text !== "ProtoGrpcType" && !field.parent.heritageClauses
    ? readField(field, view)
    : undefined;
}

/** The field of a message that a listener without types is called with. */
function untypedField({ parent }: ts.Node, view: View): ts.Declaration | undefined {
  if (!ts.isPropertyAccessExpression(parent)) return undefined;
  const of = parent.expression;
  const declaration = ts.isIdentifier(of) ? view.declared(of) : undefined;
  const outer = ts.isPropertyAccessExpression(of) ? untypedField(of.name, view) : undefined;
  const type = outer ? view.checker.getTypeAtLocation(outer) : declaration && messageType(declaration);
  return type?.getNonNullableType().getProperty(parent.name.text)?.declarations?.[0];
}

function nameOf({ name }: ts.TypeElement): string {
  return name && (ts.isIdentifier(name) || ts.isStringLiteral(name)) ? name.text : "";
}

/** The fields of a oneof that a property names, which proto-loader adds for the option `oneofs`. */
function casesOf({ type, parent }: ts.PropertySignature): string[] {
  const names = type ? Array.from(type.getText().matchAll(/"(\w+)"/g), ([, one = ""]) => one) : [];
  const own = (parent as ts.InterfaceDeclaration).members.map(nameOf);
  const isCases = type?.getText().replaceAll(/"\w+"|[\s|()]/g, "") === "";
  return isCases && names.every((one) => own.includes(one)) ? names : [];
}

export function readField(field: ts.PropertySignature, view: View): LoadedField {
  const own = nameOf(field);
  const inFile = (way: "input" | "output"): ts.PropertySignature =>
    (messageOf(field.parent, way)?.members.find((one) => nameOf(one) === own) as ts.PropertySignature) ?? field;
  const [input, output] = [inFile("input"), inFile("output")];
  const [given, got] = [input, output].map(({ type }) => type?.getText() ?? "") as [string, string];
  const name = localName(own);
  const members = messageOf(field.parent, "input")?.members.filter(ts.isPropertySignature) ?? [];
  const oneof = members.find((one) => casesOf(one).includes(own) && !nameOf(one).startsWith("_"));
  const cases = casesOf(input);
  const { text = "" } = protoOf(field.getSourceFile()) ?? {};
  const named = (pattern: RegExp): string[] => Array.from(text.matchAll(pattern), ([, one = ""]) => localName(one));
  const optional = named(/\boptional [\w.]+ (\w+)/g);
  const [, ...oneofs] = text.split(" oneof ");
  const inOneofs = oneofs.flatMap((body) =>
    Array.from(body.slice(0, body.indexOf("}")).matchAll(/\b(\w+) = \d/g), ([, one = ""]) => localName(one)),
  );
  const of = referred(input.type, view);
  const isMessage = of !== undefined && ts.isInterfaceDeclaration(of);
  const form =
    cases.length > 0
      ? "case"
      : /\bLong\b/.test(given)
        ? "long"
        : of && !isMessage
          ? "enum"
          : /\bBuffer\b/.test(given)
            ? "bytes"
            : isMessage
              ? "message"
              : /\bnumber \| string\b/.test(given)
                ? "double"
                : "plain";
  const isMap = /\[key: \w+\]/.test(given);
  const reason =
    isMap && !["plain", "message"].includes(form)
      ? "is a map of other values in protobuf-es"
      : /_google_protobuf_(?:[A-Z][a-zA-Z0-9]*Value|Value|Struct|Any)\b/.test(given)
        ? "is a well-known type with another form in protobuf-es"
        : form === "bytes" && !/\bBuffer\b/.test(got)
          ? "has bytes as a string or an array, by the option bytes"
          : form === "case" && own.startsWith("_")
            ? "tells whether an optional field is set: compare that with undefined"
            : oneof === undefined && inOneofs.includes(name)
              ? "is in a oneof: generate types with the option oneofs first"
              : undefined;
  return {
    name,
    form,
    isList: given.includes("[]"),
    output: got,
    cases,
    of: isMessage ? undefined : of,
    oneof: oneof && localName(nameOf(oneof)),
    isOptional: optional.includes(name),
    isOmitted: output.questionToken !== undefined && !isMessage && oneof === undefined && !optional.includes(name),
    reason,
  };
}

/** The message or enum that the type of a field refers to. */
function referred(type: ts.Node | undefined, view: View): ts.Declaration | undefined {
  if (type === undefined) return undefined;
  if (ts.isIdentifier(type)) {
    const found = view.declared(type);
    // The name of a map's key is a parameter.
    const isType = found && !ts.isPropertySignature(found) && !ts.isParameter(found);
    return isType && isLoaded(found) ? found : undefined;
  }
  return type.forEachChild((child) => referred(child, view));
}
