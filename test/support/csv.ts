/** A body format for tests: one line of names and one line of values. It is what a file in `http-rpc/body/` would be. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { BodyFormat } from "../../runtime/src/http-rpc/body/format.ts";
import { decodeParameters, parseText } from "../../runtime/src/http-rpc/body/parameters.ts";
import { decodeText } from "../../runtime/src/http-rpc/body/text.ts";
import type { BodyContent, NamedResult, NamedValue } from "../../runtime/src/protocol/payload.ts";

type Row = Extract<BodyContent, { shape: "pairs" }>;

export const csv: BodyFormat = {
  kind: "csv",
  mediaTypes: ["text/csv"],
  safelisted: false,
  parse(bytes) {
    const [names = [], values = []] = decodeText(bytes)
      .split("\n")
      .map((line) => line.split(","));
    if (names.length !== values.length) throw new Error("the lines have different lengths");
    return { shape: "pairs", values: names.map((name, index) => ({ name, value: values[index] as string })) };
  },
  decode(type, { values }: Row, { json }) {
    return decodeParameters(json, type, values, (field, text) => parseText(json, field, text));
  },
  response: {
    onRequest: false,
    parameters: "; header=present",
    fits: ({ fields }) => fields.every(({ fieldKind }) => fieldKind === "scalar"),
    encode: (_type, value) => linesOf(Object.entries(value as JsonObject).map(([name, value]) => ({ name, value }))),
    results: {
      notation: { long: String, double: String, bytes: String, date: (date) => date.toISOString() },
      encode: encodeResult,
    },
  },
};

function encodeResult({ name, result }: NamedResult): Uint8Array {
  if (result.shape !== "object") return linesOf([{ name, value: result.shape === "single" ? result.value : "" }]);
  return linesOf(
    result.fields.map(({ name, value }) => ({ name, value: value.shape === "single" ? value.value : "" })),
  );
}

function linesOf(values: readonly NamedValue<unknown>[]): Uint8Array {
  const lines = [values.map(({ name }) => name), values.map(({ value }) => String(value))];
  return new TextEncoder().encode(lines.map((line) => line.join(",")).join("\n"));
}
