/** Names and strings that mean something to TypeScript, to JavaScript or to the tools around them. */

const keywords =
  `abstract accessor any as asserts assert async await bigint boolean break case catch class const constructor continue
debugger declare default defer delete do else enum export extends false finally for from function get global if implements
import in infer instanceof interface intrinsic is keyof let module namespace never new null number object of out override
package private protected public readonly require return satisfies set static string super switch symbol this throw true
try type typeof undefined unique unknown using var void while with yield eval arguments exports then`.split(/\s+/);

const prototypeMembers = Object.getOwnPropertyNames(Object.prototype);

const ours =
  `CallOptions CallDefaults HandlerContext ServiceDef Transport UnaryMethod MessageInitShape createClient createFakeClient
unimplemented plainMessage JsonObject Then Catch Finally ServiceClient ServiceHandler Init`.split(/\s+/);

/** Each one an identifier in a proto file. */
export const hostileNames: readonly string[] = [
  ...new Set([...keywords, ...prototypeMembers, ...ours, ...Object.getOwnPropertyNames(globalThis)]),
].filter((name) => /^[A-Za-z_]\w*$/.test(name));

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
