/** Questions about types as the compiler knows them: their names, their declarations and their parts. */
import { Node, type Type, type TypeNode, ts } from "ts-morph";
import { leavesOf } from "./rules.ts";

export function membersOf(type: Type): Type[] {
  return type.getUnionTypes().filter((one) => !one.isUndefined());
}

/** Returns the type that a brand such as `string & { readonly brand: unique symbol }` marks, or the type itself. */
export function unbranded(type: Type): Type {
  const isMarked = (one: Type): boolean =>
    one.isString() ||
    one.isNumber() ||
    one.isBigInt() ||
    one.isBoolean() ||
    one.isLiteral() ||
    ["Date", "Uint8Array"].includes(globalNameOf(one) ?? "");
  return type.isIntersection() ? (type.getIntersectionTypes().find(isMarked) ?? type) : type;
}

export function hasUndefined(type: Type): boolean {
  return type.isUndefined() || membersOf(type).length < type.getUnionTypes().length;
}

/** Returns the type without undefined, or the type itself: undefined is ignored in unions. */
export function withoutUndefined(type: Type): Type {
  const [only, ...others] = membersOf(type);
  return only !== undefined && others.length === 0 ? only : type;
}

/** Returns the name of a declared type with its arguments; `undefined` for one without a declaration of the user. */
export function nameOf(type: Type): string | undefined {
  const alias = type.getAliasSymbol();
  const symbol = alias ?? type.getSymbol();
  const declaration = declarationOf(type);
  if (symbol === undefined || declaration === undefined || isOfLibrary(declaration)) return undefined;
  const args = alias === undefined ? type.getTypeArguments() : type.getAliasTypeArguments();
  const own = Node.isNamed(declaration) || Node.isNameable(declaration) ? declaration.getName() : undefined;
  return [
    // The symbol of a default export is called `default`.
    own ?? symbol.getName(),
    ...args.map((one) => capitalized(nameOf(one) ?? one.getText().replaceAll(/\W+/g, ""))),
  ].join("");
}

function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

export function declarationOf(type: Type): Node | undefined {
  const [declaration] = (type.getAliasSymbol() ?? type.getSymbol())?.getDeclarations() ?? [];
  const isNamed =
    Node.isTypeAliasDeclaration(declaration) ||
    Node.isInterfaceDeclaration(declaration) ||
    Node.isClassDeclaration(declaration) ||
    Node.isEnumDeclaration(declaration);
  return isNamed ? declaration : undefined;
}

/** Returns the name of a type that the standard library declares. */
export function globalNameOf(type: Type): string | undefined {
  const symbol = type.getSymbol();
  const [declaration] = symbol?.getDeclarations() ?? [];
  const isNamed = Node.isInterfaceDeclaration(declaration) || Node.isClassDeclaration(declaration);
  return isNamed && isOfLibrary(declaration) ? symbol?.getName() : undefined;
}

export function isOfLibrary(node: Node): boolean {
  return node.getProject().getProgram().compilerObject.isSourceFileDefaultLibrary(node.getSourceFile().compilerNode);
}

export function isOfLibraryType(node: TypeNode): boolean {
  const [declaration] = (Node.isTypeReference(node) ? node.getTypeName().getSymbol()?.getDeclarations() : []) ?? [];
  return declaration !== undefined && isOfLibrary(declaration);
}

/** The types of the keys and the values of an index signature. */
export interface IndexTypes {
  readonly key: Type;
  readonly value: Type;
}

/** Returns the index signatures of a type: only that of strings, if there is one, because it includes the others. */
export function indexesOf(type: Type): IndexTypes[] {
  const { compilerFactory, typeChecker } = (type as unknown as { readonly _context: TypeContext })._context;
  const all = typeChecker.compilerObject.getIndexInfosOfType(type.compilerType);
  const ofString = all.find(({ keyType }) => keyType.flags & ts.TypeFlags.String);
  return (ofString === undefined ? all : [ofString]).map(({ keyType, type: value }) => ({
    key: compilerFactory.getType(keyType),
    value: compilerFactory.getType(value),
  }));
}

/** The part of a type of ts-morph that wraps other types. Its interface has no index signatures but those of strings and numbers. */
interface TypeContext {
  readonly compilerFactory: { getType(type: ts.Type): Type };
  readonly typeChecker: { readonly compilerObject: ts.TypeChecker };
}

/** Returns the node of an array's items. */
export function elementNode(typeNode: TypeNode | undefined): TypeNode | undefined {
  for (const leaf of writableLeaves(typeNode)) {
    if (Node.isArrayTypeNode(leaf)) return leaf.getElementTypeNode();
  }
  return argumentNodes(typeNode)[0];
}

/** Returns the nodes of the arguments of a type of the standard library, or of the key and the value of an index signature. */
export function argumentNodes(typeNode: TypeNode | undefined): readonly (TypeNode | undefined)[] {
  const leaves = writableLeaves(typeNode);
  const known = leaves.find((leaf) => Node.isTypeReference(leaf) && isOfLibraryType(leaf));
  if (Node.isTypeReference(known)) return known.getTypeArguments();
  return indexNodes(leaves.flatMap((leaf) => leaf.getType().getSymbol()?.getDeclarations() ?? []));
}

/** Returns the nodes of the key and the value in the first declaration with an index signature, such as `{ [K in Id]: Name }`. */
export function indexNodes(declarations: readonly Node[]): readonly (TypeNode | undefined)[] {
  for (const one of declarations) {
    if (isOfLibrary(one)) continue;
    if (Node.isMappedTypeNode(one) && one.getNameTypeNode() === undefined)
      return [one.getTypeParameter().getConstraint(), one.getTypeNode()];
    const [signature] = Node.isInterfaceDeclaration(one) || Node.isTypeLiteral(one) ? one.getIndexSignatures() : [];
    if (signature !== undefined) return [signature.getKeyTypeNode(), signature.getReturnTypeNode()];
  }
  return [];
}

/** Returns the members of a union, or the type itself, with `T` for `Readonly<T>`. */
export function writableLeaves(typeNode: TypeNode | undefined): TypeNode[] {
  return leavesOf(typeNode).flatMap((leaf) => {
    const isReadonly = Node.isTypeReference(leaf) && leaf.getTypeName().getText() === "Readonly";
    return isReadonly && isOfLibraryType(leaf) ? writableLeaves(leaf.getTypeArguments()[0]) : [leaf];
  });
}
