/**
 * The fields of a message that can be query parameters of a route: scalars and enums, in messages at any depth
 * (`google.api.http`, "query parameters"). Messages inside messages can have exponentially many paths to fields, so
 * their number is bounded, and routes accept no deeper ones than JSON.
 */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { MAX_JSON_DEPTH } from "../codec/json-syntax.ts";
import { isTextual } from "../http-rpc/body/parameters.ts";
import type { FieldPath } from "../rest/field-path.ts";

/** Maximum number of query parameters of a route in a document. */
const MAX_QUERY_PARAMETERS = 200;
/** Maximum number of paths that are visited to find them. */
const MAX_VISITED_PATHS = 20_000;

/** Returns the paths to the first fields that can be query parameters and are wanted. */
export function queryLeaves(type: DescMessage, isWanted: (path: FieldPath) => boolean): FieldPath[] {
  const leaves: FieldPath[] = [];
  const withLeaves = typesWithLeaves(type);
  let visited = 0;

  /** `outer` are the messages around the type: a message inside itself has no parameters. */
  const visit = (current: DescMessage, before: readonly DescField[], outer: ReadonlySet<DescMessage>): void => {
    const inside = new Set([...outer, current]);
    for (const field of current.fields) {
      if (leaves.length === MAX_QUERY_PARAMETERS || visited === MAX_VISITED_PATHS) return;
      visited++;
      const path = [...before, field] as unknown as FieldPath;
      if (field.fieldKind === "map" || !isWanted(path)) continue;
      const inner = messageOf(field);
      if (isLeaf(field)) leaves.push(path);
      else if (inner !== undefined && path.length < MAX_JSON_DEPTH && withLeaves.has(inner) && !inside.has(inner)) {
        visit(inner, path, inside);
      }
    }
  };
  visit(type, [], new Set());
  return leaves;
}

function isLeaf({ fieldKind, message }: DescField): boolean {
  return fieldKind !== "map" && (message === undefined || isTextual(message));
}

/** The message of a field whose own fields can be parameters. */
function messageOf(field: DescField): DescMessage | undefined {
  return field.fieldKind === "message" && !isLeaf(field) ? field.message : undefined;
}

/** Returns the messages inside a message from which a leaf can be reached. Visits each message once. */
function typesWithLeaves(root: DescMessage): ReadonlySet<DescMessage> {
  const holders = new Map<DescMessage, DescMessage[]>([[root, []]]);
  for (const type of holders.keys()) {
    for (const field of type.fields) {
      const inner = messageOf(field);
      if (inner === undefined) continue;
      const known = holders.get(inner);
      if (known === undefined) holders.set(inner, [type]);
      else known.push(type);
    }
  }
  const found = new Set([...holders.keys()].filter(({ fields }) => fields.some(isLeaf)));
  for (const type of found) for (const holder of holders.get(type) ?? []) found.add(holder);
  return found;
}
