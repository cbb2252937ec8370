/** Compares generated codecs of the corpus with protobuf-es: both encode and decode a random value of each message. */
import { posix } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { createFileRegistry, type DescMessage, type FileRegistry, fromBinary, toBinary } from "@bufbuild/protobuf";
import * as protobuf from "@bufbuild/protobuf/wkt";
import type { MessageCodec } from "triple-es/codec";
import * as runtime from "triple-es/codec";
import * as wkt from "triple-es/wkt";
import { codecName, messagesOf } from "../../src/plugin/codec/codec-file.ts";
import { createPbNames } from "../../src/plugin/pb-names.ts";
import { describeValue, type Random, randomMessage, randomOf } from "../codec/binary/values.ts";

type Exports = Readonly<Record<string, unknown>>;

/** The plugin parameter of files that `roundTrip` evaluates. */
export const ROUND_TRIP_PARAMETER = "target=js,js_import_style=legacy_commonjs";

export interface RoundTrips {
  readonly messages: number;
  /** Returns a line for each message whose bytes or value differ from those of protobuf-es. */
  readonly failures: readonly string[];
}

/** `generated`: the files that the plugin writes as CommonJS for all files of the set. */
export function roundTrip(
  set: protobuf.FileDescriptorSet,
  generated: readonly { readonly name: string; readonly content: string }[],
): RoundTrips {
  const load = moduleLoader(new Map(generated.map(({ name, content }) => [name, content])));
  const names = createPbNames(() => "");
  const failures: string[] = [];
  const random = randomOf(1);
  let messages = 0;
  for (const file of registryOf(set).files) {
    // Codecs of well-known types are in the runtime.
    if (file.name.startsWith("google/protobuf/")) continue;
    for (const message of messagesOf(file)) {
      messages++;
      try {
        const codec = load(`${file.name}_codec.js`)[codecName(names.type(message).shape)];
        if (codec === undefined) throw new Error("the codec is missing");
        judge(message, codec as MessageCodec<object>, random);
      } catch (error) {
        failures.push(`${message.typeName}: ${error instanceof Error ? error.message : error}`);
      }
    }
  }
  return { messages, failures };
}

/** The descriptors of the set with the well-known types of protobuf-es, because buf contains those of another release. */
function registryOf(set: protobuf.FileDescriptorSet): FileRegistry {
  const known = new Map(
    Object.values(protobuf).flatMap((value) =>
      typeof value === "object" && "kind" in value && value.kind === "file" ? [[value.proto.name, value.proto]] : [],
    ),
  );
  return createFileRegistry({ ...set, file: set.file.map((file) => known.get(file.name) ?? file) });
}

/** Evaluates CommonJS modules without files, each of them once. */
function moduleLoader(sources: ReadonlyMap<string, string>): (name: string) => Exports {
  const packages: Readonly<Record<string, Exports>> = { "triple-es/codec": runtime, "triple-es/wkt": wkt };
  const loaded = new Map<string, Exports>();
  const load = (name: string): Exports => {
    const known = loaded.get(name);
    if (known !== undefined) return known;
    const source = sources.get(name);
    if (source === undefined) throw new Error(`${name} was not generated`);
    const exports = {};
    loaded.set(name, exports);
    new Function("exports", "require", source)(
      exports,
      // Imports have no extension unless `import_extension` says so.
      (path: string) => packages[path] ?? load(`${posix.join(posix.dirname(name), path).replace(/\.js$/, "")}.js`),
    );
    return exports;
  };
  return load;
}

/** Throws if the codec differs from protobuf-es. */
function judge(message: DescMessage, codec: MessageCodec<object>, random: Random): void {
  const value = randomMessage(message, random);
  const expected = toBinary(message, value);
  if (Buffer.compare(codec.encode(value), expected) !== 0) throw new Error("the bytes differ");
  const [decoded, oracle] = [codec.decode(expected), fromBinary(message, expected)];
  if (!isDeepStrictEqual(describeValue(decoded), describeValue(oracle))) throw new Error("the decoded messages differ");
}
