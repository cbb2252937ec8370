/**
 * The pages of the site in the order of its navigation. A page is a Markdown document of the repository. The build fails if
 * a document of `docs/` is not listed.
 */

/** A document, by its path in the repository, and its title in the navigation. */
type Page = readonly [document: string, title: string];

interface Group {
  readonly title: string;
  readonly pages: readonly Page[];
}

export const GROUPS: readonly Group[] = [
  {
    title: "Start",
    pages: [
      ["README.md", "Introduction"],
      ["docs/guide.md", "Guide"],
      ["docs/contracts.md", "Contracts in TypeScript"],
      ["docs/project.md", "A project"],
      ["docs/examples.md", "Examples"],
      ["docs/testing.md", "Testing"],
      ["docs/migration.md", "Migration"],
    ],
  },
  {
    title: "Reference",
    pages: [
      ["docs/options.md", "Options"],
      ["docs/generator.md", "Generator"],
      ["runtime/README.md", "Entry points"],
    ],
  },
  {
    title: "HTTP",
    pages: [
      ["docs/http-rpc.md", "HTTP RPC"],
      ["docs/rest.md", "REST"],
      ["docs/mcp.md", "MCP"],
      ["docs/openapi.md", "OpenAPI"],
      ["docs/validation.md", "Validation"],
      ["docs/browsers.md", "Browsers"],
      ["docs/bundle-size.md", "Bundle size"],
      ["docs/frameworks.md", "Frameworks"],
      ["nest/README.md", "NestJS"],
    ],
  },
  {
    title: "Production",
    pages: [
      ["docs/deployment.md", "Deployment"],
      ["docs/tls.md", "TLS"],
      ["docs/operations.md", "Operations"],
      ["docs/discovery.md", "Multiple servers"],
      ["docs/reliability.md", "Reliability"],
      ["docs/rules.md", "Traffic rules"],
      ["SECURITY.md", "Security"],
    ],
  },
  {
    title: "Dubbo and Java",
    pages: [
      ["docs/interop.md", "Interop"],
      ["docs/interface.md", "Java interfaces in TypeScript"],
      ["docs/java.md", "Java values"],
      ["docs/dubbo-options.md", "Options of triple-es-dubbo"],
      ["dubbo/README.md", "Entry points of triple-es-dubbo"],
    ],
  },
  {
    title: "Project",
    pages: [
      ["docs/specification.md", "Specification"],
      ["docs/comparison.md", "Comparison"],
      ["docs/architecture.md", "Architecture"],
      ["docs/glossary.md", "Glossary"],
      ["bench/README.md", "Benchmarks"],
      ["CHANGELOG.md", "Changes"],
      ["CONTRIBUTING.md", "Contributing"],
    ],
  },
];

/** The address of the page of a document, from the root of the site: `/guide` for `docs/guide.md`. */
export function addressOf(document: string): string {
  if (document === "README.md") return "/introduction";
  const name = document.replace(/^docs\//, "").replace(/\/README\.md$|\.md$/, "");
  return `/${name.toLowerCase()}`;
}

/** The addresses of all pages, by the paths of their documents. */
export const ADDRESSES: ReadonlyMap<string, string> = new Map(
  GROUPS.flatMap(({ pages }) => pages.map(([document]) => [document, addressOf(document)] as const)),
);

/** The anchor of a heading, as in the repository's viewer, so that links to headings are right in both. */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, "")
    .replaceAll(" ", "-");
}
