/**
 * The outline of the files generated from contracts: exported names, and imports from other files.
 */
import { relative } from "node:path";
import { Scope, unbindable } from "../../print/names.ts";
import type { Contract, Method, Service } from "../model/contract.ts";
import { type ClassShape, type EnumShape, type JavaTypeModel, shapesOf } from "../model/java-type.ts";

export type Shape = ClassShape | EnumShape;

export interface StubOutline {
  readonly contract: Contract;
  /** The path below the output folder, without extension. */
  readonly path: string;
  readonly services: readonly StubServiceOutline[];
  /** The constants of classes and enums that the contract declares. */
  readonly constants: ReadonlyMap<Shape, string>;
  /**
   * Constants that only this file uses. They describe enums of other files, generic classes, and classes that no
   * contract declares.
   */
  readonly locals: ReadonlyMap<Shape, string>;
  /** All identifiers that the file declares. */
  readonly claimed: readonly string[];
}

export interface StubServiceOutline {
  readonly service: Service;
  readonly client: string;
  readonly handler: string;
  readonly definition: string;
  readonly factory: string;
  readonly methods: readonly { readonly method: Method; readonly constant: string }[];
}

/** Global types that these files use, in addition to those that all generated files use. */
const globals = ["Array", "Date", "Map", "ReadonlyArray", "ReadonlyMap", "ReadonlySet", "Record", "Set", "Uint8Array"];

export const reserved: readonly string[] = [...unbindable, ...globals];

/** Outlines a file for each contract with declarations. `root` is the folder that corresponds to the output folder. */
export function outlineStubs(contracts: readonly Contract[], root: string): StubOutline[] {
  const drafts = contracts
    .filter(({ services, shapes }) => services.length + shapes.length > 0)
    .map((contract) => draft(contract, root));
  const homes = new Map(drafts.flatMap((one) => [...one.constants.keys()].map((shape) => [shape, one] as const)));
  return drafts.map(({ scope, ...one }) => {
    const locals = new Map(localShapes(one, (shape) => homes.has(shape)).map((s) => [s, scope.claim(constantName(s))]));
    return { ...one, locals, claimed: scope.claimed };
  });
}

type Draft = Omit<StubOutline, "locals" | "claimed"> & { readonly scope: Scope };

function draft(contract: Contract, root: string): Draft {
  const scope = new Scope(reserved);
  const services = contract.services.map((service) => ({
    service,
    client: scope.claim(`${service.name}Client`),
    handler: scope.claim(`${service.name}Handler`),
    definition: scope.claim(`${service.name}Def`),
    factory: scope.claim(`create${service.name}Client`),
    methods: service.methods.map((method) => ({ method, constant: scope.claim(`${service.name}_${method.name}`) })),
  }));
  const constants = new Map(contract.shapes.map((shape) => [shape, scope.claim(constantName(shape))]));
  const path = relative(root, contract.file).replaceAll("\\", "/").replace(sourceExtension, "_triple");
  return { contract, path, services, constants, scope };
}

/** Matches the extension of a contract's file. */
export const sourceExtension = /(?:\.d)?\.ts$/;

function constantName(shape: Shape): string {
  if (shape.kind === "enum") return `${shape.name}Enum`;
  return `${[shape.name, ...shape.args.map(label)].join("_")}Class`;
}

/** Returns a type as part of an identifier. */
function label(type: JavaTypeModel): string {
  switch (type.kind) {
    case "named":
      return type.name === "[B" ? "Bytes" : (type.name.split(/\W/).at(-1) ?? "");
    case "list":
    case "set":
    case "array":
      return `${type.kind}_${label(type.element)}`;
    case "map":
      return `map_${label(type.key)}_${label(type.value)}`;
    case "class":
      return [type.shape.name, ...type.args.map(label)].join("_");
    case "enum":
      return type.shape.name;
    case "variable":
      return type.name;
  }
}

/**
 * Returns the shapes that a file must describe itself. Enums are always included: their constants are read while
 * modules are loading, when the constants of a file with a circular import do not exist yet.
 */
function localShapes(
  { contract, constants }: Pick<StubOutline, "contract" | "constants">,
  isShared: (shape: Shape) => boolean,
): Shape[] {
  const locals = new Set<Shape>();
  const visit = (type: JavaTypeModel): void => {
    for (const shape of shapesOf(type)) {
      if (!constants.has(shape) && !(shape.kind === "class" && isShared(shape))) locals.add(shape);
    }
  };
  for (const { parameters, result } of contract.services.flatMap(({ methods }) => methods)) {
    for (const { type } of parameters) visit(type.java);
    if (result !== undefined) visit(result.java);
  }
  for (const shape of contract.shapes) if (shape.kind === "class") for (const { java } of shape.fields) visit(java);
  // The loop also visits shapes that it adds to the set.
  for (const shape of locals) if (shape.kind === "class") for (const { java } of shape.fields) visit(java);
  return [...locals];
}
