/** The options of typedoc, for an API reference of all entry points of the runtime. Each warning is an error. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { OptionDefaults } from "typedoc";

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const { exports } = JSON.parse(readFileSync(path("../runtime/package.json"), "utf8"));

export default {
  entryPoints: Object.values(exports)
    .flatMap((entry) => entry["triple-source"] ?? [])
    .map((name) => path(`../runtime/${name}`)),
  tsconfig: path("../runtime/tsconfig.json"),
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
  // A generated constant, whose service has a comment.
  intentionallyNotDocumented: ["triple-es/health.HealthDef"],
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
