/** The text of handlers and requests for a service, which the visitor of the playground changes. */
import { type DescField, type DescMessage, type DescMethod, type DescService, ScalarType } from "@bufbuild/protobuf";
import { exampleOf } from "../../runtime/src/openapi/example.ts";

/** Maximum number of messages inside each other. */
const MAX_DEPTH = 2;

/** An object with a handler for each method of a service: text of JavaScript. */
export function handlersOf({ methods }: DescService): string {
  return `{\n${methods.map(handlerOf).join("\n\n")}\n}`;
}

function handlerOf({ localName, methodKind, input, output }: DescMethod): string {
  const name = input.fields.find((field) => field.scalar === ScalarType.STRING && field.fieldKind === "scalar");
  const text = name === undefined ? `"Hello!"` : `\`Hello, \${request.${name.localName}}!\``;
  const response = (text: string): string => initOf(output, text);
  switch (methodKind) {
    case "unary":
      return `  ${localName}(request, context) {\n    return ${response(text)};\n  },`;
    case "server_streaming":
      return `  async *${localName}(request, context) {\n    for (let i = 0; i < 3; i++) yield ${response(text)};\n  },`;
    case "client_streaming":
      return `  async ${localName}(requests, context) {\n    let count = 0;\n    for await (const request of requests) count++;\n    return ${response("String(count)")};\n  },`;
    case "bidi_streaming":
      return `  async *${localName}(requests, context) {\n    for await (const request of requests) yield ${response(text)};\n  },`;
  }
}

/** The text of an initial value of a message, in which strings have the given text. */
function initOf({ fields }: DescMessage, text: string, depth = MAX_DEPTH): string {
  const used = fields.filter((field) => field.oneof === undefined && (field.message === undefined || depth > 0));
  if (used.length === 0) return "{}";
  return `{ ${used.map((field) => `${field.localName}: ${textOf(field, text, depth)}`).join(", ")} }`;
}

function textOf(field: DescField, text: string, depth: number): string {
  if (field.fieldKind === "map") return "{}";
  if (field.fieldKind === "list" && (field.message !== undefined || field.enum !== undefined)) return "[]";
  const one = oneOf(field, text, depth);
  return field.fieldKind === "list" ? `[${one}]` : one;
}

function oneOf({ scalar, message }: DescField, text: string, depth: number): string {
  if (message !== undefined)
    return message.typeName.startsWith("google.protobuf.") ? "undefined" : initOf(message, text, depth - 1);
  switch (scalar) {
    case ScalarType.STRING:
      return text;
    case ScalarType.BOOL:
      return "true";
    case ScalarType.BYTES:
      return "new Uint8Array([1, 2, 3])";
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return "1n";
    default:
      return scalar === undefined ? "0" : "1";
  }
}

/** A request of a method in JSON, an array for a stream. */
export function requestOf({ methodKind, input }: DescMethod): string {
  const example = exampleOf(input);
  const name = input.fields.find((field) => field.scalar === ScalarType.STRING);
  const named = (text: string) =>
    name === undefined
      ? example
      : { ...(example as object), [name.jsonName]: name.fieldKind === "list" ? [text] : text };
  const isStream = methodKind === "client_streaming" || methodKind === "bidi_streaming";
  return JSON.stringify(isStream ? [named("Ann"), named("Bob")] : named("Ann"), null, 2);
}
