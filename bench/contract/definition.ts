/** The answers of an editor for an entrant: type errors, the types on hover, and the place to which "go to definition" leads. */
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import ts from "ts60";

const OPTIONS: ts.CompilerOptions = {
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  target: ts.ScriptTarget.ES2022,
  allowImportingTsExtensions: true,
  noEmit: true,
  skipLibCheck: true,
  strict: true,
  noUnusedLocals: true,
  types: ["node"],
};

/**
 * Returns the types and the definition of the identifier that follows `before` in the client of an entrant. Throws for a type
 * error in the client or the server.
 */
export function lookUp(folder: string, entrant: string, before: string): { hover: string; definition: string } {
  const file = `${folder}/${entrant}/client.ts`;
  const files = [file, `${folder}/${entrant}/server.ts`];
  const versionOf = () => "1";
  const host: ts.LanguageServiceHost = {
    ...ts.sys,
    useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    getCompilationSettings: () => OPTIONS,
    getScriptFileNames: () => files,
    getScriptVersion: versionOf,
    getScriptSnapshot: (name) => {
      const text = ts.sys.readFile(name);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
  };
  const service = ts.createLanguageService(host);
  const [error] = files.flatMap((one) => service.getSemanticDiagnostics(one));
  if (error !== undefined) {
    throw new Error(`${error.file?.fileName}: ${ts.flattenDiagnosticMessageText(error.messageText, "\n")}`);
  }
  const position = readFileSync(file, "utf8").indexOf(before) + before.length;
  const hover = ts.displayPartsToString(service.getQuickInfoAtPosition(file, position)?.displayParts);
  const definition = (service.getDefinitionAtPosition(file, position) ?? []).map(({ fileName, textSpan }) => {
    const line = service.getProgram()?.getSourceFile(fileName)?.getLineAndCharacterOfPosition(textSpan.start).line ?? 0;
    return `${relative(folder, fileName)}:${line + 1}`;
  });
  return { hover, definition: definition.join(", ") };
}
