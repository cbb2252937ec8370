/**
 * Regular expressions of the runtime and of the plugin: none may take more than linear time (ReDoS, CWE-1333). The table
 * `expressions.tsv` lists them with their reach, which is the source of the texts that they are matched against, and with
 * the verdict of the checker.
 *
 * A verdict depends on the expression and on the version of the checker alone, and takes up to seconds. `expressions.verified`
 * has the hashes of those that the checker has given; a run computes the others. With `EXPRESSIONS=all`, as in `npm run
 * campaign`, it computes all; with `EXPRESSIONS=write`, it also writes the file.
 *
 * The checker is the JavaScript build of recheck. `package.json` overrides its native builds, which are not used, with a
 * package that no platform of ours installs.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import ts from "ts59";
import { describe, expect, it } from "vitest";
import { ROOT } from "./support/documents.ts";

const TABLE = "test/expressions.tsv";
const VERIFIED = join(ROOT, "test/expressions.verified");
const mode = process.env["EXPRESSIONS"];

/**
 * `peer`: a sender of bytes, such as a client, a server, a proxy, a registry or DNS. `option`: who starts the program.
 * `source`: who writes its schemas and contracts. `own`: the runtime and its platform.
 */
const REACHES = ["peer", "option", "source", "own"];

/**
 * `proved`: the automaton has no ambiguity. `tried`: recheck has no automaton for the expression, because of lookaround or
 * of large counts, and found no attack; such an expression was also read by a person.
 */
const VERDICTS = ["proved", "tried"];

/**
 * Expressions of text that is not constant: a pattern of the option `rewrite_imports`, for paths of imports; patterns of the
 * rules of a proto file, for examples in its OpenAPI document; patterns of contracts, which are printed.
 */
const NOT_CONSTANT = [
  `runtime/src/openapi/pattern-example.ts\tnew RegExp(\`^\${token}$\`, "u")`,
  'runtime/src/openapi/rule-keywords.ts\tnew RegExp(pattern, "u")',
  'src/contract/typescript/rules.ts\tnew RegExp(text, "u")',
  'src/contract/typescript/wire-code.ts\tnew RegExp(pattern, "u")',
  `src/print/imports.ts\tnew RegExp(\`^\${source}$\`)`,
];

interface Diagnostics {
  readonly status: "safe" | "vulnerable" | "unknown";
  readonly checker: "automaton" | "fuzz";
}
const require = createRequire(import.meta.url);
const { checkSync } = require("recheck/lib/browser.js") as {
  checkSync(source: string, flags: string, parameters: object): Diagnostics;
};
const { version } = require("recheck/package.json") as { readonly version: string };

/** The hash of a verdict of this version of the checker. */
const hashOf = (verdict: string, expression: string): string =>
  createHash("sha256").update(`${version}\t${verdict}\t${expression}`).digest("base64url").slice(0, 16);

/** Limits of counts, so that a verdict is the same on a slow machine. */
const PARAMETERS = { timeout: null, incubationTimeout: null, attackTimeout: null, attackLimit: 10_000_000 };

function verdictOf({ source, flags }: Pick<RegExp, "source" | "flags">): string {
  const { status, checker } = checkSync(source, flags, PARAMETERS);
  return status === "safe" ? (checker === "automaton" ? "proved" : "tried") : status;
}

const rows = readFileSync(join(ROOT, TABLE), "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => {
    const [reach = "", verdict = "", file = "", expression = ""] = line.split("\t");
    return { reach, verdict, file, expression };
  });

interface Found {
  readonly file: string;
  readonly expression: string;
}

/** Returns the expressions of a file: its literals, and what it constructs of text. */
function expressionsIn(file: string): { literals: Found[]; constructed: string[] } {
  const parsed = ts.createSourceFile(file, readFileSync(join(ROOT, file), "utf8"), ts.ScriptTarget.Latest, true);
  const literals: Found[] = [];
  const constructed: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) literals.push({ file, expression: node.text });
    if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === "RegExp") {
      const [source, flags] = (node.arguments ?? []).map((argument) => constantText(argument));
      if (source === undefined) constructed.push(`${file}\t${node.getText()}`);
      else literals.push({ file, expression: String(new RegExp(source, flags)) });
    }
    ts.forEachChild(node, visit);
  };
  visit(parsed);
  return { literals, constructed };
}

/** Returns the text of an expression of literals, templates, sums and constants of the same file. */
function constantText(node: ts.Expression): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    return joined([constantText(node.left), constantText(node.right)]);
  }
  if (ts.isTemplateExpression(node)) {
    const spans = node.templateSpans.flatMap(({ expression, literal }) => [constantText(expression), literal.text]);
    return joined([node.head.text, ...spans]);
  }
  if (!ts.isIdentifier(node)) return undefined;
  for (const statement of node.getSourceFile().statements) {
    if (!ts.isVariableStatement(statement) || !(statement.declarationList.flags & ts.NodeFlags.Const)) continue;
    const constant = statement.declarationList.declarations.find(({ name }) => name.getText() === node.text);
    if (constant?.initializer !== undefined) return constantText(constant.initializer);
  }
  return undefined;
}

function joined(parts: readonly (string | undefined)[]): string | undefined {
  return parts.includes(undefined) ? undefined : parts.join("");
}

const files = ["runtime/src", "dubbo/src", "nest/src", "src"].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.c?[jt]s$/.test(name))
    .map((name) => `${folder}/${name}`),
);
const found = files.sort().map(expressionsIn);

describe("the regular expressions", () => {
  it(`are those of ${TABLE}`, () => {
    const keyOf = ({ file, expression }: Found) => `${file}\t${expression}`;
    const keys = new Set(found.flatMap(({ literals }) => literals.map(keyOf)));
    expect(rows.map(keyOf).sort()).toEqual([...keys].sort());
    for (const { reach, verdict } of rows) {
      expect(REACHES).toContain(reach);
      expect(VERDICTS).toContain(verdict);
    }
  });

  it("are literals, or constructed of constant text", () => {
    expect(found.flatMap(({ constructed }) => constructed)).toEqual(NOT_CONSTANT);
  });

  it("take linear time", () => {
    const verified = new Set(mode === undefined ? readFileSync(VERIFIED, "utf8").split("\n") : []);
    const verdicts = new Map<string, string>();
    const wrong: string[] = [];
    for (const { file, verdict, expression } of rows) {
      if (verified.has(hashOf(verdict, expression))) continue;
      const end = expression.lastIndexOf("/");
      const parts = { source: expression.slice(1, end), flags: expression.slice(end + 1) };
      const actual = verdicts.get(expression) ?? verdictOf(parts);
      verdicts.set(expression, actual);
      if (actual !== verdict) wrong.push(`${file} ${expression} is ${actual}, not ${verdict}`);
    }
    expect(wrong).toEqual([]);
    if (mode !== "write") return;
    const hashes = Array.from(verdicts, ([expression, verdict]) => hashOf(verdict, expression));
    writeFileSync(VERIFIED, `${hashes.sort().join("\n")}\n`);
  });
});

describe("the checker", () => {
  // Expressions that were in the runtime, each with seconds of CPU for 60,000 characters.
  it.each([/^[ \t]+|[ \t]+$/g, /^[0-9]*[1-9][0-9]*$/, /\s*;\s*/, /^charset\s*=(?!\s*"?(?:utf-?8|us-ascii)?"?\s*$)/])(
    "finds that %s is quadratic",
    (expression) => {
      expect(verdictOf(expression)).toBe("vulnerable");
    },
  );
});
