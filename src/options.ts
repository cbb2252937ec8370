/** The plugin's options: what `opt:` in buf.gen.yaml or `--triple-es_opt` may say, and how it is explained. */

/** The options of this plugin, beside those the plugin kit reads for every plugin. */
export interface TripleOptions {
  /** Where generated code imports the runtime from: a package, or a file under the output folder such as `./rt.js`. */
  readonly runtimeImport: string;
}

const defaults: TripleOptions = { runtimeImport: "triple-es" };

/** Options of the plugin kit that users may set, then our own. */
const allowed: readonly (readonly [usage: string, meaning: string])[] = [
  ["target=ts", "what to write: ts, js, dts, or several joined with +; default js+dts"],
  ["import_extension=js", "extension of relative imports: none, js or ts; default none"],
  ["js_import_style=module", "module or legacy_commonjs, for target=js; default module"],
  ["keep_empty_files=true", "write a file even for a proto file without services"],
  ["ts_nocheck=true", "begin each file with // @ts-nocheck"],
  ["elide_plugin_version=true", "leave the plugin's version out of each file"],
  ["map_imports=acme/:@acme/protos", "import messages of matching proto files from a package; may be repeated"],
  [`runtime_import=${defaults.runtimeImport}`, "where to import the runtime from"],
];

/** Reads the options the plugin kit does not know. All mistakes are reported together. */
export function parseOptions(raw: readonly { key: string; value: string }[]): TripleOptions {
  const options = { ...defaults };
  const mistakes: string[] = [];
  for (const { key, value } of raw) {
    if (key !== "runtime_import") {
      mistakes.push(`unknown option "${key}"`);
    } else if (value === "") {
      mistakes.push('option "runtime_import" needs a value');
    } else {
      options.runtimeImport = value;
    }
  }
  if (mistakes.length > 0) {
    const names = allowed.map(([usage]) => usage.slice(0, usage.indexOf("=")));
    throw new Error(`${mistakes.join(", ")}; the options are ${names.join(", ")}`);
  }
  return options;
}

export const helpText = `protoc-gen-triple-es: typed Triple clients and server interfaces for the services of proto files.

Started by buf or protoc, it reads a CodeGeneratorRequest on stdin and writes a CodeGeneratorResponse to stdout.
Messages come from protoc-gen-es, run with the same target and import_extension into the same folder.

Options, in opt: of buf.gen.yaml or --triple-es_opt of protoc:
${allowed.map(([usage, meaning]) => `  ${usage.padEnd(31)} ${meaning}`).join("\n")}

Flags:
  --version                       print the version
  --help                          print this text
`;
