/**
 * Redaction of messages in JSON: values of fields with the option `debug_redact` (descriptor.proto) are replaced whole, with
 * the messages, lists and maps in them.
 */
import type { DescField, DescMessage, JsonValue } from "@bufbuild/protobuf";

/** The text in place of a redacted value, as protobuf's text format has it. */
export const REDACTED = "[REDACTED]";

const known = new WeakMap<DescMessage, boolean>();

/** Replaces the redacted fields of a message in place. The contents of well-known types have no options. */
export function redactMessage(type: DescMessage, json: JsonValue): void {
  if (hasRedacted(type)) redactFields(type, json);
}

function redactFields({ typeName, fields }: DescMessage, json: JsonValue): void {
  if (typeof json !== "object" || json === null || Array.isArray(json) || typeName.startsWith("google.protobuf."))
    return;
  for (const field of fields) {
    const value = json[field.jsonName];
    if (value === undefined) continue;
    if (isRedacted(field)) json[field.jsonName] = REDACTED;
    else if (field.message !== undefined) {
      const nested = field.fieldKind === "message" ? [value] : Object.values(value as object);
      for (const one of nested) redactFields(field.message, one);
    }
  }
}

/** Reports whether a message of the type can contain a redacted field at any depth. */
function hasRedacted(root: DescMessage): boolean {
  const answer = known.get(root);
  if (answer !== undefined) return answer;
  const types = new Set([root]);
  // The set grows while it is iterated: types may contain each other.
  for (const { fields } of types) for (const { message } of fields) if (message !== undefined) types.add(message);
  const found = [...types].some(({ fields }) => fields.some(isRedacted));
  known.set(root, found);
  return found;
}

function isRedacted({ proto }: DescField): boolean {
  return proto.options?.debugRedact === true;
}
