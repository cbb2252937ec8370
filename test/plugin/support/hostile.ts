/** Names and strings with a meaning in TypeScript, in JavaScript or in their tools. */
import type { Plugin } from "@bufbuild/protoplugin";
import { plugin } from "../../../src/plugin/plugin.ts";

const keywords =
  `abstract accessor any as asserts assert async await bigint boolean break case catch class const constructor continue
debugger declare default defer delete do else enum export extends false finally for from function get global if implements
import in infer instanceof interface intrinsic is keyof let module namespace never new null number object of out override
package private protected public readonly require return satisfies set static string super switch symbol this throw true
try type typeof undefined unique unknown using var void while with yield eval arguments exports then`.split(/\s+/);

const prototypeMembers = Object.getOwnPropertyNames(Object.prototype);

const ours =
  `CallOptions CallDefaults HandlerContext ServiceDef Transport UnaryMethod MessageInitShape createClient createStreamingClient createFakeClient
unimplemented plainJson JsonObject Then Catch Finally ServiceClient ServiceHandler Init`.split(/\s+/);

/** Each one an identifier in a proto file. */
export const hostileNames: readonly string[] = [
  ...new Set([...keywords, ...prototypeMembers, ...ours, ...Object.getOwnPropertyNames(globalThis)]),
].filter((name) => /^[A-Za-z_]\w*$/.test(name));

/**
 * Words that protoc-gen-es 2.17 cannot print as the name of a message: with the first six, its module does not parse, with
 * the others it does not type-check. They are messages only in programs without modules of protoc-gen-es.
 */
export const unprintableMessages: readonly string[] =
  "as await infer keyof readonly unique any never symbol undefined unknown".split(" ");

/** Words that protoc-gen-es 2.17 cannot print as the name of a service: its module does not parse. */
export const unprintableServices: readonly string[] = ["arguments", "await", "eval"];

/** Parts of comments and strings. */
export const hostileStrings: readonly string[] = [
  "*/",
  "/*",
  "//",
  "*\\/",
  "\u2028",
  "\u2029",
  "\r",
  "\n",
  "\u0000",
  "\u001b[2J",
  "\u202e",
  "\ud800",
  '"',
  "'",
  "`",
  "\\",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it must not become one
  "${process.exit()}",
  "</script>",
  "<!--",
  "-->",
  "@ts-nocheck",
  "@ts-expect-error",
  "@deprecated",
  "{@link x}",
  "# sourceMappingURL=data:application/json;base64,e30=",
  "@ sourceMappingURL=x",
  '/ <reference path="./x.d.ts" />',
  "globalThis.pwned = 1",
  "export const pwned = 1;",
  "__proto__",
  "plain text",
];

/** A mutant of the plugin, which misspells a type in every signature. Tests that type-check must detect it. */
export const mutant: Plugin = {
  ...plugin,
  run(request) {
    const response = plugin.run(request);
    for (const file of response.file) file.content = file.content.replaceAll("Promise<", "Promis<");
    return response;
  },
};
