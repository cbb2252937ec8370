/** Joins the types of a union: values of different forms are told apart by their form in JSON, objects by a constant. */
import type { Node, Type } from "ts-morph";
import { joinTemplates } from "./templates.ts";
import { type Constant, type Form, formOf, type WireType } from "./wire-type.ts";

/** A type of a union, as the compiler resolves it, and as it is read. */
export type UnionMember = readonly [Type, WireType];

/**
 * Joins types at a node to a union: each form has constants, one type, or objects that differ in a constant. Or returns the form that
 * has not.
 */
export function joinTypes(members: readonly UnionMember[], node: Node): WireType | Form | "union" {
  const byForm = new Map<Form | "union", UnionMember[]>();
  for (const member of members) {
    const form = formOf(member[1]);
    byForm.set(form, [...(byForm.get(form) ?? []), member]);
  }
  const types = new Map<Form, WireType>();
  for (const [form, all] of byForm) {
    const isTagged = form === "object" && all.length > 1;
    const joined = isTagged ? joinObjects(all, node) : joinConstants(all.map(([, type]) => type));
    if (joined === undefined || (form === "union" && byForm.size > 1)) return form;
    types.set(form as Form, joined);
  }
  const [only] = types.values();
  return types.size === 1 && only !== undefined ? only : { kind: "union", types };
}

/** Joins objects by the field in which they differ; it may have several constants in one. Returns `undefined` if there is none. */
function joinObjects(objects: readonly UnionMember[], node: Node): WireType | undefined {
  const constantsIn = (type: Type, name: string): (Constant | undefined)[] => {
    const property = type.getProperty(name);
    // The declaration of a generic or mapped type has no constant.
    const value = property?.isOptional() ? undefined : property?.getTypeAtLocation(node);
    const values = value?.isUnion() ? value.getUnionTypes() : [value];
    return values.map((one) => (one?.isLiteral() ? constantOfType(one) : undefined));
  };
  for (const property of objects[0]?.[0].getProperties() ?? []) {
    const tag = property.getName();
    const types = objects.flatMap(([type, wire]) => constantsIn(type, tag).map((one) => [one, wire] as const));
    const constants = new Set(types.map(([constant]) => constant));
    if (!constants.has(undefined) && constants.size === types.length) {
      return { kind: "tagged", tag, types: types as [Constant, WireType][] };
    }
  }
  return undefined;
}

/** Joins types of one form: constants to one list, or to the type of all strings or numbers. Returns `undefined` if that is impossible. */
function joinConstants(types: readonly WireType[]): WireType | undefined {
  // `"a" | (string & {})`, in which editors suggest the constant.
  const isAny = (type: WireType): boolean => "rules" in type && Object.keys(type.rules).length === 0;
  const [only = types[0], ...others] = types.filter(({ kind }) => kind !== "constant");
  if (types.length === 1 || (others.length === 0 && only && isAny(only))) return only;
  const values = types.flatMap((type) => (type.kind === "constant" ? type.values : []));
  if (values.length < types.length) return joinTemplates(types);
  return values.includes(true) && values.includes(false) ? { kind: "boolean" } : { kind: "constant", values };
}

/** Returns the value of a literal type. */
export function constantOfType(type: Type): Constant {
  if (type.isBooleanLiteral()) return type.getText() === "true";
  return type.getLiteralValue() as string | number;
}
