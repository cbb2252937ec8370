/** The messages of protoc-gen-es, imported from its modules, with a named init type for each. */
import type { DescEnum, DescFile, DescMessage } from "@bufbuild/protobuf";
import type { Declaration } from "../print/declaration.ts";
import { jsDoc } from "../print/jsdoc.ts";
import { memo } from "../print/memoize.ts";
import type { Scope } from "../print/names.ts";
import { codecModule, codecName } from "./codec/codec-file.ts";
import { expandedInit, reachedBy } from "./expanded-init.ts";
import type { MessageOutline, Messages, Tools } from "./message-types.ts";

export function pbMessages(
  file: DescFile,
  used: readonly DescMessage[],
  exported: Scope,
  { options, pb, textOf }: Tools,
): Messages {
  const isExpanded = options.initTypes === "expanded";
  const declared = isExpanded ? reachedBy(used) : used;
  const ownFirst = [...declared.filter((m) => m.file === file), ...declared.filter((m) => m.file !== file)];
  const initOf = memo((message: DescMessage) => exported.claim(`${pb.type(message).shape}Init`));
  ownFirst.forEach(initOf);

  return (imports) => {
    const protobuf = imports.module("@bufbuild/protobuf");
    const importOf = memo((type: DescMessage | DescEnum) => {
      const { shape, schema, from } = pb.type(type);
      const module = imports.module(from);
      module.reserve(shape);
      if (type.kind === "message") module.reserve(schema);
      return { shape: () => module.type(shape), typeOf: () => module.type(schema), value: () => module.value(schema) };
    });
    for (const message of ownFirst) importOf(message);

    const of = memo((message: DescMessage): MessageOutline => {
      const { shape, value } = importOf(message);
      const codec = () =>
        imports.module(codecModule(message, { pb, options })).value(codecName(pb.type(message).shape));
      return { shape, init: () => initOf(message), schema: value, ...(options.codecs ? { codec } : {}) };
    });
    const alias = (message: DescMessage): Declaration => ({
      kind: "type",
      doc: jsDoc([`The init shape of ${message.typeName}: the message, or some of its fields.`]),
      name: initOf(message),
      type: () => `${protobuf.type("MessageInitShape")}<typeof ${importOf(message).typeOf()}>`,
    });
    const names = { init: initOf, shape: (type: DescEnum) => importOf(type).shape(), protobuf };
    const declarations = declared.map((message) =>
      isExpanded ? (expandedInit(message, names, textOf) ?? alias(message)) : alias(message),
    );
    return { declarations, of };
  };
}
