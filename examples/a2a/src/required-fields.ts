/** The required fields of messages: those with the annotation `google.api.field_behavior` (specification, section 5.7). */
import { type DescMessage, getOption, type Message } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.ts";
import { invalidField } from "./errors.ts";

/** Throws for the first required field, at any depth, that is not set. */
export function assertRequired(schema: DescMessage, message: Message): void {
  check(reflect(schema, message), "");
}

function check(message: ReflectMessage, path: string): void {
  for (const field of message.fields) {
    const name = path + field.jsonName;
    if (!message.isSet(field)) {
      if (getOption(field, field_behavior).includes(FieldBehavior.REQUIRED)) throw invalidField(name, "is required");
    } else if (field.fieldKind === "message" && !field.message.typeName.startsWith("google.protobuf.")) {
      check(message.get(field), `${name}.`);
    } else if (field.fieldKind === "list" && field.listKind === "message") {
      for (const [index, item] of [...message.get(field)].entries())
        check(item as ReflectMessage, `${name}[${index}].`);
    }
  }
}
