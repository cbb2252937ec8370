/** The options of typedoc, for an API reference of all entry points. Each warning is an error. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { OptionDefaults } from "typedoc";

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
/** The sources of the entry points of a workspace that are public. */
const entryPointsOf = (workspace) =>
  Object.entries(JSON.parse(readFileSync(path(`../${workspace}/package.json`), "utf8")).exports).flatMap(
    ([name, { "triple-source": source }]) =>
      source === undefined || name.startsWith("./internal") ? [] : [path(`../${workspace}/${source}`)],
  );

export default {
  entryPoints: [...entryPointsOf("runtime"), ...entryPointsOf("dubbo"), ...entryPointsOf("nest")],
  tsconfig: path("tsconfig.reference.json"),
  // `npm run types` checks them, with a compiler that takes a tenth of the time.
  skipErrorChecking: true,
  plugin: ["typedoc-plugin-markdown", path("documented.js")],
  out: path("pages/reference"),
  name: "API reference",
  readme: "none",
  disableSources: true,
  excludePrivate: true,
  excludeInternal: true,
  // The generated code of the health service names the element of the proto file.
  blockTags: [...OptionDefaults.blockTags, "@generated"],
  notRenderedTags: ["@generated"],
  validation: { notExported: true, invalidLink: true, invalidPath: true, rewrittenLink: true, notDocumented: true },
  requiredToBeDocumented: [
    "Enum",
    "EnumMember",
    "Variable",
    "Function",
    "Class",
    "Interface",
    "Method",
    "Accessor",
    "TypeAlias",
  ],
  treatWarningsAsErrors: true,
  treatValidationWarningsAsErrors: true,
  membersWithOwnFile: ["Class", "Interface"],
  entryFileName: "index",
  hidePageHeader: true,
  hideBreadcrumbs: true,
  groupOrder: ["Functions", "Classes", "Variables", "Interfaces", "Type Aliases"],
  useCodeBlocks: true,
  indexFormat: "table",
  parametersFormat: "table",
  interfacePropertiesFormat: "list",
  expandParameters: true,
};
