/** Unions of objects with tags as one object, for languages without unions. */
import { isDeepStrictEqual } from "node:util";
import { formOf, type WireField, type WireType } from "./wire-type.ts";

/** Returns the type that a declared type stands for. */
export function shapeOf(type: WireType): Exclude<WireType, { kind: "named" }> {
  return type.kind === "named" ? shapeOf(type.shape.type) : type;
}

/** Returns the fields of all members of a union with tags, whose JSON is that of one message. */
export function taggedFields({ tag, types }: WireType & { kind: "tagged" }): WireField[] {
  const members = types.flatMap(([constant, type]) => {
    const object = shapeOf(type);
    return object.kind === "object" ? [{ constant, fields: object.fields }] : [];
  });
  const names = new Set(members.flatMap(({ fields }) => fields.map(({ name }) => name)));
  return Array.from(names, (name) => {
    const owners = members.flatMap(({ constant, fields }) =>
      fields.filter((field) => field.name === name).map((field) => ({ constant, field })),
    );
    const values = owners.map(({ constant }) => JSON.stringify(constant)).join(" or ");
    const when = owners.length < members.length ? [`Only if ${tag} is ${values}.`] : [];
    return {
      name,
      type: mergedType(owners.map(({ field }) => field.type)),
      isOptional: owners.some(({ field }) => field.isOptional),
      comment: [...(owners.find(({ field }) => field.comment.length > 0)?.field.comment ?? []), ...when],
    };
  });
}

/** Returns one type for the values of all types. */
function mergedType(types: readonly WireType[]): WireType {
  const [first = types[0] as WireType, ...others] = types;
  if (others.every((other) => isDeepStrictEqual(other, first))) return first;
  const shapes = types.map(shapeOf);
  const forms = new Set(shapes.map(formOf));
  const values = shapes.flatMap((type) => (type.kind === "constant" ? type.values : []));
  if (forms.size === 1 && shapes.every(({ kind }) => kind === "constant")) {
    return { kind: "constant", values: [...new Set(values)] };
  }
  for (const kind of ["string", "number"] as const) {
    if (shapes.every((type) => type.kind === kind)) return { kind, rules: {} };
  }
  // These types may have one form. The printer of proto files takes any union for any JSON.
  return { kind: "union", types: new Map(types.map((type, index) => [index as never, type])) };
}
