/** Checks for declarations that Java rejects as a whole, although each part is valid. */
import type { Node } from "ts-morph";
import type { Contract, Service } from "../model/contract.ts";
import { type Problems, placeOf } from "../model/diagnostics.ts";
import { isClassName } from "../model/java-name.ts";
import { serviceKey } from "../model/java-signature.ts";
import { type ClassShape, type EnumShape, type Field, type JavaTypeModel, partsOf } from "../model/java-type.ts";
import { splitName } from "./java-imports.ts";

/** A declaration that becomes an interface, a class or an enum in Java. */
export type JavaDeclaration = Service | ClassShape | EnumShape;

/** Reports declarations that a Java compiler would reject. */
export function checkJava(contracts: readonly Contract[], problems: Problems): void {
  const byName = new Map<string, JavaDeclaration>();
  for (const one of contracts.flatMap(({ services, declared }) => [...services, ...declared])) {
    const other = byName.get(one.javaName);
    if (other === undefined) byName.set(one.javaName, one);
    else if (!isSame(one, other)) {
      const hint = "Java allows one class of a name; exclude one of them with a pattern that begins with !";
      problems.error(
        one.node,
        `${one.javaName} has a different declaration in ${problems.format(placeOf(other.node))}: ${hint}`,
      );
    }
  }
  const packages = new Set([...byName.keys()].flatMap(packagesOf));
  for (const one of byName.values()) {
    if (packages.has(one.javaName)) {
      problems.error(one.node, `${one.javaName} is also the package of another class; rename one of them`);
    }
    if ("fields" in one) checkClass(one, problems);
    for (const { node, name } of referencesOf(one)) {
      if (splitName(name).packageName !== "" || splitName(one.javaName).packageName === "") continue;
      problems.error(node, `${name} has no package, so ${one.javaName} cannot refer to it in Java; give it one`);
    }
    for (const { node, exceptions } of "methods" in one ? one.methods : []) {
      const data = exceptions.find((name) => byName.has(name));
      if (data !== undefined)
        problems.error(
          node,
          `${data} is declared as data, which Java cannot throw; name an exception class of your own`,
        );
    }
  }
}

function isSame(one: JavaDeclaration, other: JavaDeclaration): boolean {
  return "methods" in one && "methods" in other && serviceKey(one) === serviceKey(other);
}

/** Returns the package of a class and its parent packages. */
function packagesOf(javaName: string): string[] {
  const parts = splitName(javaName).packageName.split(".");
  return parts.map((_, i) => parts.slice(0, i + 1).join("."));
}

function checkClass({ node, javaName, args, fields }: ClassShape, problems: Problems): void {
  const parameter = args.find((one) => one.kind === "variable" && !isClassName(one.name));
  if (parameter?.kind === "variable") {
    problems.error(node, `Java does not allow a type parameter with the name ${parameter.name}; use T, for example`);
  }
  const taken = new Map([["getClass", "Object"]]);
  for (const field of fields) {
    const { getter, setter } = accessorsOf(field);
    const other = taken.get(getter) ?? taken.get(setter);
    if (other !== undefined) {
      problems.error(node, `${javaName}: ${field.name} and ${other} would both have ${getter}(); rename a field`);
    }
    taken.set(getter, field.name).set(setter, field.name);
  }
}

export function accessorsOf({ name, java }: Field): { getter: string; setter: string } {
  const suffix = name.charAt(0).toUpperCase() + name.slice(1);
  const isFlag = java.kind === "named" && java.name === "boolean";
  return { getter: `${isFlag ? "is" : "get"}${suffix}`, setter: `set${suffix}` };
}

/** Returns the classes and enums that a declaration refers to, with their nodes. */
function referencesOf(one: JavaDeclaration): { node: Node; name: string }[] {
  const namesIn = (node: Node, types: readonly (JavaTypeModel | undefined)[]): { node: Node; name: string }[] =>
    types.flatMap((type) => {
      if (type === undefined) return [];
      const own = type.kind === "class" || type.kind === "enum" ? [{ node, name: type.shape.javaName }] : [];
      return [...own, ...namesIn(node, partsOf(type))];
    });
  if ("methods" in one) {
    return one.methods.flatMap(({ node, parameters, result }) =>
      namesIn(node, [...parameters.map(({ type }) => type.java), result?.java]),
    );
  }
  return one.kind === "enum" ? [] : namesIn(one.node, [one.base, ...one.ownFields.map(({ java }) => java)]);
}
