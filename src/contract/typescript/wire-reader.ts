/** Reads the types of messages, as the compiler resolves them. */
import { Node, SymbolFlags, SyntaxKind, type Type, type TypeNode, type Symbol as TypeSymbol, ts } from "ts-morph";
import type { Problems } from "../model/diagnostics.ts";
import { commentOf } from "../read/tags.ts";
import {
  argumentNodes,
  declarationOf,
  elementNode,
  globalNameOf,
  hasUndefined,
  type IndexTypes,
  indexesOf,
  indexNodes,
  isOfLibrary,
  isOfLibraryType,
  membersOf,
  nameOf,
  unbranded,
  withoutUndefined,
  writableLeaves,
} from "./compiler-types.ts";
import type { DeclaredNames } from "./declared-names.ts";
import { aliasesOf, hasRules, leavesOf, rulesOf, type TaggedRules } from "./rules.ts";
import { constantPattern, templateRules } from "./templates.ts";
import { constantOfType, joinTypes, type UnionMember } from "./unions.ts";
import { type Form, formOf, type KeyType, type NamedType, type WireField, type WireType } from "./wire-type.ts";

/** The place of a type: the node of errors, and the node of the type if the source has one. */
interface Place {
  readonly node: Node;
  readonly typeNode: TypeNode | undefined;
  readonly rules: TaggedRules;
}

const ANY_JSON = "type Json = null | boolean | number | string | Json[] | { [key: string]: Json }";

/** Types that have no form in JSON, each with a replacement. */
const REPLACEMENTS: Readonly<Record<string, string>> = {
  any: `name the type, such as ${ANY_JSON}`,
  unknown: `name the type, such as ${ANY_JSON}`,
  never: "remove it",
  undefined: "use an optional field, or null",
  void: "use null",
  symbol: "use a string",
  object: "name the fields",
};

/** Maximum number of declared types, each in the one before. A generic type that contains itself with other arguments exceeds it. */
const MAX_DEPTH = 100;

const ANY_STRING: WireType = { kind: "string", rules: {} };

/** Returns a type that has the form of a type which is being read. The members of a union may contain the union. */
function ofSameForm(type: Type): WireType {
  const isList = (one: Type): boolean => one.isArray() || one.isReadonlyArray() || one.isTuple();
  const members = type.isUnion() ? type.getUnionTypes() : [type];
  if (members.every(isList)) return { kind: "tuple", items: [] };
  const isText = (one: Type): boolean => ["Date", "Uint8Array"].includes(globalNameOf(one) ?? "");
  const areObjects = members.every((one) => one.isObject() && !isList(one) && !isText(one));
  return areObjects ? { kind: "object", fields: [] } : { kind: "union", types: new Map() };
}

export class WireReader {
  readonly #problems: Problems;
  readonly #names: DeclaredNames;
  readonly #named = new Map<ts.Type, NamedType>();
  /** The types without a name that are being read. */
  readonly #unnamed = new Map<ts.Type, NamedType>();
  #depth = 0;

  constructor(problems: Problems, names: DeclaredNames) {
    this.#problems = problems;
    this.#names = names;
  }

  /** Reads the type of a message, which a node of the source declares, perhaps with type parameters. */
  readMessage(typeNode: TypeNode, declaration: Node, type = typeNode.getType()): WireType {
    if (!this.#names.check(typeNode)) return ANY_STRING;
    return this.#present(type, this.#place(typeNode, typeNode, declaration));
  }

  #place(node: Node, typeNode: TypeNode | undefined, declaration?: Node): Place {
    this.#checkArguments(typeNode);
    return { node, typeNode, rules: rulesOf(declaration, typeNode, this.#problems) };
  }

  #fail(node: Node, problem: string): WireType {
    this.#problems.error(node, problem);
    return ANY_STRING;
  }

  /** Reads the type of a value that cannot be absent, as a field can: a message, or one in an array, a record or a map. */
  #present(type: Type, place: Place): WireType {
    return type.isUnion() && hasUndefined(type)
      ? this.#fail(place.node, `undefined has no form in JSON; ${REPLACEMENTS["undefined"]}`)
      : this.#read(type, place);
  }

  #read(type: Type, place: Place): WireType {
    const read = this.#readPart(type, place);
    const inner = read.kind === "named" ? read.shape.type : read;
    for (const [target, { tag }] of Object.entries(place.rules)) {
      const hasTarget = target === formOf(inner) || (inner.kind === "union" && inner.types.has(target as Form));
      const name = tag.getTagName();
      if (!hasTarget) this.#problems.error(tag, `@${name} is for ${target}s, and the type has none`);
      else if (read.kind === "named" && tag.getFirstAncestorByKind(SyntaxKind.TypeAliasDeclaration) === undefined) {
        this.#problems.error(
          tag,
          `@${name} is not read here, because all values of ${read.shape.name} have the same rules; move it there`,
        );
      }
    }
    return read;
  }

  #readPart(type: Type, place: Place): WireType {
    const single = this.#single(type, place);
    if (single !== undefined) return single;
    const known = this.#named.get(type.compilerType);
    if (known !== undefined) return { kind: "named", shape: known };
    const name = nameOf(type);
    if (name === undefined) return this.#withoutName(type, place);
    if (this.#depth === MAX_DEPTH) {
      return this.#fail(
        place.node,
        `more than ${MAX_DEPTH} types contain each other; does one contain itself with other arguments?`,
      );
    }
    const declaration = declarationOf(type);
    const comment = declaration !== undefined && Node.isJSDocable(declaration) ? commentOf(declaration) : [];
    const shape: NamedType = { name, comment, type: ofSameForm(type) };
    this.#named.set(type.compilerType, shape);
    const typeNode = Node.isTypeAliasDeclaration(declaration) ? declaration.getTypeNode() : undefined;
    const rules = rulesOf(declaration, typeNode, this.#problems);
    this.#depth++;
    shape.type = this.#structure(type, { node: typeNode ?? place.node, typeNode, rules });
    this.#depth--;
    return { kind: "named", shape };
  }

  /** Reads a type without a name, such as `Readonly<Doc>`. It gets one if it contains itself. */
  #withoutName(type: Type, place: Place): WireType {
    const open = this.#unnamed.get(type.compilerType);
    if (open !== undefined) {
      this.#named.set(type.compilerType, open);
      return { kind: "named", shape: open };
    }
    const args = type.getAliasTypeArguments().map((one) => nameOf(one) ?? "");
    const name = [type.getAliasSymbol()?.getName() ?? "Type", ...args].join("");
    const shape: NamedType = { name, comment: [], type: ofSameForm(type) };
    this.#unnamed.set(type.compilerType, shape);
    shape.type = this.#structure(type, place);
    this.#unnamed.delete(type.compilerType);
    return this.#named.has(type.compilerType) ? { kind: "named", shape } : shape.type;
  }

  /** Reads a type that has no parts. */
  #single(type: Type, { node, rules }: Place): WireType | undefined {
    const base = unbranded(type);
    if (base.isTemplateLiteral() || base.getFlags() & ts.TypeFlags.StringMapping) {
      const template = base.isTemplateLiteral() ? templateRules(base, node) : undefined;
      if (template === undefined) {
        return this.#fail(node, `${base.getText(node)} has no form in JSON; use string with @pattern`);
      }
      if (rules.string?.rules.pattern !== undefined) {
        return this.#fail(node, `${base.getText(node)} is a pattern already; remove the tag, or use string`);
      }
      return { kind: "string", rules: { ...rules.string?.rules, ...template } };
    }
    if (base.isString()) {
      return { kind: "string", rules: rules.string?.rules ?? {} };
    }
    if (base.isNumber()) return { kind: "number", rules: rules.number?.rules ?? {} };
    if (base.isBoolean()) return { kind: "boolean" };
    if (base.isBigInt()) return { kind: "bigint" };
    if (base.isBigIntLiteral()) return this.#fail(node, "a literal cannot be a bigint; use bigint");
    if (base.isNull()) return { kind: "constant", values: [null] };
    if (base.isLiteral() && !base.isUnion()) return { kind: "constant", values: [constantOfType(base)] };
    // The text of a type that is not found is its name, if it has arguments.
    const word = base.isAny() ? "any" : base.getFlags() & ts.TypeFlags.ESSymbolLike ? "symbol" : base.getText();
    const replacement = Object.hasOwn(REPLACEMENTS, word) ? REPLACEMENTS[word] : undefined;
    if (replacement !== undefined) return this.#fail(node, `${word} has no form in JSON; ${replacement}`);
    if (base.isTypeParameter()) return this.#fail(node, `${word} has no form in JSON; name the type`);
    return undefined;
  }

  #structure(type: Type, place: Place): WireType {
    const { node, typeNode, rules } = place;
    if (type.isUnion()) return this.#union(type, place);
    if (type.isEnum()) return this.#fail(node, `a value of ${type.getText(node)} is computed; write it as a constant`);
    const args = type.getTypeArguments();
    if (type.isTuple()) return this.#tuple(type, place);
    if (type.isArray() || type.isReadonlyArray()) {
      const item = elementNode(typeNode);
      const read = this.#present(args[0] as Type, this.#place(item ?? node, item));
      return { kind: "array", item: read, rules: rules.array?.rules ?? {} };
    }
    const global = globalNameOf(unbranded(type));
    if (global === "Date") return { kind: "date" };
    if (global === "Uint8Array") return { kind: "bytes" };
    if (global === "Map" || global === "ReadonlyMap") {
      return this.#keyed("map", { key: args[0] as Type, value: args[1] as Type }, argumentNodes(typeNode), node);
    }
    if (global !== undefined) {
      const isList = /Set$|^Iter|^ArrayLike$/.test(global);
      const remedy = isList ? "use an array" : "name the fields of an object, or use a string";
      return this.#fail(node, `${global} has no form in JSON; ${remedy}`);
    }
    if (type.getCallSignatures().length + type.getConstructSignatures().length > 0) {
      return this.#fail(node, "a function has no form in JSON; messages are data");
    }
    const [index, another] = indexesOf(type);
    if (another !== undefined) {
      return this.#fail(node, "an object has keys of one type; use { [key: string]: … }");
    }
    const properties = type.getProperties();
    const method = properties.find((one) =>
      one.getDeclarations().some((d) => Node.isMethodSignature(d) && isOfLibrary(d)),
    );
    if (method !== undefined) {
      return this.#fail(node, `${type.getText(node)} has the method ${method.getName()}; messages are data`);
    }
    if (index !== undefined) {
      if (properties.length > 0) {
        return this.#fail(
          node,
          "an object has declared fields or an index signature; put the others into a field of their own",
        );
      }
      // The rule ban-types of linters asks for `Record<string, never>` instead of `{}`.
      if (index.value.isNever()) return { kind: "object", fields: [] };
      const nodes = indexNodes(type.getSymbol()?.getDeclarations() ?? []);
      return this.#keyed("record", index, nodes.length > 0 ? nodes : argumentNodes(typeNode), node);
    }
    return { kind: "object", fields: properties.flatMap((one) => this.#field(one, node) ?? []) };
  }

  #field(property: TypeSymbol, node: Node): WireField | undefined {
    const name = property.getName();
    const declaration = property.getDeclarations().find((one) => !isOfLibrary(one));
    const at = declaration ?? node;
    if (name.startsWith("__@")) {
      this.#problems.error(at, "a field with a symbol as its name is not sent; use a string");
      return undefined;
    }
    if (name === "__proto__" || name === "toJSON") {
      this.#problems.error(at, `a field cannot be called ${name}; use another name`);
      return undefined;
    }
    if (
      (Node.isModifierable(declaration) &&
        (["private", "protected"] as const).some((one) => declaration.hasModifier(one))) ||
      (Node.isPropertyNamed(declaration) && Node.isPrivateIdentifier(declaration.getNameNode()))
    ) {
      const own = Node.isPropertyNamed(declaration) ? declaration.getName() : name;
      this.#problems.error(at, `${own} is not public, and messages are; use an interface`);
      return undefined;
    }
    const type = property.getTypeAtLocation(node);
    if (declaration === undefined && property.getDeclarations().length > 0 && type.isUnknown()) {
      this.#problems.error(at, `${name} of the language has no form in JSON; use an interface of your own`);
      return undefined;
    }
    if (property.hasFlags(SymbolFlags.Method) || type.getCallSignatures().length > 0) {
      this.#problems.error(at, `${name} is a function, which has no form in JSON; messages are data`);
      return undefined;
    }
    const typeNode = declaration !== undefined && Node.isTyped(declaration) ? declaration.getTypeNode() : undefined;
    const isOptional = property.isOptional() || hasUndefined(type);
    // Such as `radius?: never` of a box, in a union with circles.
    if (isOptional && (type.isNever() || type.isUndefined())) return undefined;
    const rules = rulesOf(declaration, typeNode, this.#problems);
    this.#checkArguments(typeNode);
    return {
      name,
      type: this.#read(isOptional ? withoutUndefined(type) : type, { node: typeNode ?? at, typeNode, rules }),
      isOptional,
      comment: declaration !== undefined && Node.isJSDocable(declaration) ? commentOf(declaration) : [],
    };
  }

  #tuple(type: Type, { node, typeNode }: Place): WireType {
    const elements =
      writableLeaves(typeNode)
        .find((leaf) => Node.isTupleTypeNode(leaf))
        ?.getElements() ?? [];
    const target = type.getTargetType()?.compilerType as ts.TupleType | undefined;
    if (target?.elementFlags.some((flag) => flag !== ts.ElementFlags.Required)) {
      return this.#fail(node, "each item of a tuple is required; use an array, or null for an item that is absent");
    }
    const items = type.getTupleElements().map((item, index) => {
      const element = elements[index];
      const itemNode = Node.isNamedTupleMember(element) ? element.getTypeNode() : element;
      return this.#present(item, this.#place(itemNode ?? node, itemNode));
    });
    return { kind: "tuple", items };
  }

  #keyed(
    kind: "record" | "map",
    types: IndexTypes,
    [keyNode, valueNode]: readonly (TypeNode | undefined)[],
    node: Node,
  ): WireType {
    const key = this.#present(types.key, this.#place(keyNode ?? node, keyNode));
    const value = this.#present(types.value, this.#place(valueNode ?? node, valueNode));
    return { kind, key: this.#key(key, keyNode ?? node, kind), value };
  }

  /** Converts the type of keys to what can be checked of them. */
  #key(type: WireType, node: Node, kind: "record" | "map"): KeyType {
    if (type.kind === "named") return this.#key(type.shape.type, node, kind);
    if (type.kind === "bigint") return { kind: "bigint" };
    if (type.kind === "constant" && formOf(type) === "string") {
      return { kind: "string", pattern: constantPattern(type.values) };
    }
    if (type.kind !== "string" && type.kind !== "number") {
      const remedy = kind === "map" ? "use an array of pairs" : "use a Map, or an array of pairs";
      this.#problems.error(node, `keys are string, number or bigint; ${remedy}`);
      return { kind: "string" };
    }
    const { min, max, pattern } = type.rules;
    const isLimited = min !== undefined || max !== undefined;
    if (isLimited) this.#problems.error(node, "keys have no tags but @pattern and @format; use an array of objects");
    return { kind: type.kind, pattern };
  }

  /** Reads a union, whose members are those of the source, or all members of these where they are unions that mix. */
  #union(type: Type, place: Place): WireType {
    const { typeNode } = place;
    const nodes = Node.isUnionTypeNode(typeNode) ? typeNode.getTypeNodes() : [];
    const written = nodes.map((node): [Type, Place] => [node.getType(), { ...place, node, typeNode: node }]);
    // In a generic declaration, the types of the source contain type parameters.
    const members = new Set(type.getUnionTypes().map(({ compilerType }) => compilerType));
    const isWritten = written.every(([one]) =>
      (one.isUnion() ? one.getUnionTypes() : [one]).every(({ compilerType }) => members.has(compilerType)),
    );
    const joined = written.length > 0 && isWritten ? joinTypes(this.#members(written), place.node) : undefined;
    if (typeof joined === "object") return joined;
    const leaves = leavesOf(typeNode);
    const all = membersOf(type).map((member): [Type, Place] => {
      const leaf = leaves.find((one) => one.getType().compilerType === member.compilerType);
      return [member, leaf === undefined ? place : { ...place, node: leaf, typeNode: leaf }];
    });
    const read = joinTypes(this.#members(all), place.node);
    if (typeof read === "object") return read;
    const remedy =
      read === "object"
        ? 'give each a field with a constant of its own, such as kind: "circle"'
        : "use an object with a field for each";
    const problem = `types of the union have the same form in JSON, ${read}, which cannot tell them apart`;
    return this.#fail(place.node, `${problem}; ${remedy}`);
  }

  #members(members: readonly [Type, Place][]): UnionMember[] {
    return members.flatMap(([type, place]) => (type.isUndefined() ? [] : [[type, this.#readPart(type, place)]]));
  }

  /** Reports aliases with rules among the arguments of a generic type, where the compiler replaces them. */
  #checkArguments(typeNode: TypeNode | undefined): void {
    for (const leaf of leavesOf(typeNode)) {
      if (!Node.isTypeReference(leaf) || isOfLibraryType(leaf)) continue;
      for (const argument of leaf.getTypeArguments()) this.checkArgument(argument);
    }
  }

  /** Reports an alias with rules in an argument of a generic type. */
  checkArgument(argument: TypeNode): void {
    const name = aliasesOf(argument).find(hasRules)?.getName();
    if (name === undefined) return;
    const problem = `the tags of ${name} are lost as an argument of a generic type; use a field of type ${name}`;
    this.#problems.error(argument, problem);
  }
}
