/**
 * OpenAPI 3.1 documents of services: the paths of sub-protocol A and of REST routes, the schemas of messages in JSON, and
 * errors.
 */
import type { DescFile, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../codec/values/json.ts";
import type { Route } from "../rest/rule.ts";
import { Comments } from "./comments.ts";
import { errorComponents } from "./error-schema.ts";
import { callOperation, descriptionOf, PARAMETERS, type ServiceDescription } from "./operation.ts";
import { DESCRIBED_METHODS, describePath, restOperation } from "./rest-operation.ts";
import { SchemaCollection } from "./schema.ts";

/** An OpenAPI document (OpenAPI 3.1.1, section 4.8.1), as JSON. */
export interface OpenApiDocument {
  /** The version of OpenAPI: `3.1.1`. */
  readonly openapi: string;
  /** The Info Object. */
  readonly info: JsonObject;
  /** Server Objects. */
  readonly servers: JsonObject[];
  /** Security Requirement Objects of all operations. Empty: none. */
  readonly security: JsonObject[];
  /** Tag Objects, one for each service. */
  readonly tags: JsonObject[];
  /** Path Item Objects, by their paths. */
  readonly paths: { readonly [path: string]: JsonObject };
  /** The Components Object: schemas, responses, parameters and security schemes. */
  readonly components: JsonObject;
}

/** The parts of a document that are not derived from the services. */
export interface OpenApiOptions {
  /**
   * The Info Object: `title`, `version`, and optionally `summary`, `description`, `license`, `contact` and `termsOfService`.
   * Default: the name of the service, or `Services` if there are several, and version `1.0.0`.
   */
  readonly info?: JsonObject | undefined;
  /**
   * Server Objects, such as `{ url: "https://api.acme.com" }`. Default: the prefix under which the document is requested,
   * such as `{ url: "/api" }`, or else `{ url: "/" }`.
   */
  readonly servers?: readonly JsonObject[] | undefined;
  /** Security Scheme Objects by their names. Default: none, because interceptors authenticate calls in ways of their own. */
  readonly securitySchemes?: Readonly<Record<string, JsonObject>> | undefined;
  /** Security Requirement Objects of all operations. Default: none. */
  readonly security?: readonly JsonObject[] | undefined;
  /**
   * Documents that the plugin has written (`openapi=true`), or `triple-es contract --openapi`, as JSON. Summaries and
   * descriptions are copied, and the schemas of contracts: generated code has neither. Default: none.
   */
  readonly documents?: readonly object[] | undefined;
}

/** A service with its REST routes. */
export interface RoutedService extends ServiceDescription {
  readonly routes: readonly Route[];
}

/** Returns the document of services, with the comments of files. Throws a `TypeError` for an invalid option. */
export function buildDocument(
  services: readonly RoutedService[],
  options: OpenApiOptions,
  files: Iterable<DescFile>,
): OpenApiDocument {
  const { info = {}, servers = [{ url: "/" }], securitySchemes, security = [], documents = [] } = options;
  checkInfo(info);
  const schemas = new SchemaCollection(new Comments(files));
  const paths = new Paths();
  for (const service of services) {
    // Overloads of an interface method share a path.
    for (const path of new Set(service.methods.map((method) => method.path))) {
      const methods = service.methods.filter((method) => method.path === path);
      paths.add(path, "post", callOperation(service, methods, schemas));
    }
  }
  for (const service of services) addRoutes(paths, service, schemas);
  const errors = errorComponents();
  const [only] = services.length === 1 ? services : [];
  // Schemas of scalars are shared.
  const described = structuredClone({
    tags: services.map(({ typeName }) => ({
      name: typeName,
      ...descriptionOf([schemas.comments.of(typeName)]),
    })),
    paths: paths.items,
    components: { schemas: Object.fromEntries([...schemas.schemas].sort(([a], [b]) => (a < b ? -1 : 1))) },
  });
  const contractSchemas: JsonObject = {};
  for (const document of documents as readonly Partial<OpenApiDocument>[]) {
    const { paths: own } = document;
    if (!isObject(own)) {
      throw new TypeError("documents must be OpenAPI documents as JSON, such as the plugin writes with openapi=true");
    }
    copyTexts(described, document as JsonObject);
    const isServed = services.some(({ methods }) => methods.some(({ payload, path }) => payload && path in own));
    if (isServed) Object.assign(contractSchemas, structuredClone(document.components?.["schemas"]));
  }
  return {
    openapi: "3.1.1",
    info: { title: only?.typeName ?? "Services", version: "1.0.0", ...info },
    servers: [...servers],
    security: [...security],
    tags: described.tags,
    paths: described.paths,
    components: {
      schemas: { ...contractSchemas, ...described.components.schemas, ...errors.schemas },
      parameters: PARAMETERS,
      responses: errors.responses,
      ...(securitySchemes === undefined ? {} : { securitySchemes: { ...securitySchemes } }),
    },
  };
}

function checkInfo(info: JsonObject): void {
  for (const name of ["title", "version"]) {
    const value = info[name];
    if (value !== undefined && typeof value !== "string") throw new TypeError(`info.${name} must be a string`);
  }
}

function addRoutes(paths: Paths, service: RoutedService, schemas: SchemaCollection): void {
  for (const route of service.routes) {
    const method = route.method.toLowerCase();
    if (!DESCRIBED_METHODS.has(route.method)) {
      paths.note(
        route.target.path,
        `Also at \`${route.method} ${route.template.text}\`, which OpenAPI cannot express.`,
      );
      continue;
    }
    const described = describePath(route, schemas);
    const { path, names } = paths.spellingOf(
      described.path,
      described.parameters.map(({ name }) => name),
    );
    paths.add(path, method, restOperation(service, route, described, names, schemas));
  }
}

/** The paths of a document. */
class Paths {
  readonly items: Record<string, JsonObject> = {};
  /** The first spelling of each path by its form without the names of parameters. */
  readonly #spellings = new Map<string, { readonly path: string; readonly names: readonly string[] }>();
  readonly #ids = new Set<string>();

  /** Adds an operation. A method at a path that has one already is not reachable and is ignored. */
  add(path: string, method: string, operation: JsonObject): void {
    const item = this.items[path] ?? {};
    this.items[path] = item;
    if (item[method] !== undefined) return;
    item[method] = { ...operation, operationId: this.#uniqueId(String(operation["operationId"])) };
  }

  /** Adds a paragraph to the description of the call of a method. */
  note(path: string, text: string): void {
    const operation = this.items[path]?.["post"] as JsonObject | undefined;
    if (operation) Object.assign(operation, descriptionOf([String(operation["description"] ?? ""), text]));
  }

  /** Returns the path and the names with which it was spelled first: paths that differ in names only are one path. */
  spellingOf(path: string, names: readonly string[]): { readonly path: string; readonly names: readonly string[] } {
    const form = path.replaceAll(/\{[^{}]*\}/g, "{}");
    const known = this.#spellings.get(form) ?? { path, names };
    this.#spellings.set(form, known);
    return known;
  }

  #uniqueId(id: string): string {
    let unique = id;
    for (let count = 2; this.#ids.has(unique); count++) unique = `${id}_${count}`;
    this.#ids.add(unique);
    return unique;
  }
}

/** Values, not schemas: their members may have these names too. */
const VALUE_KEYWORDS: ReadonlySet<string> = new Set(["example", "examples", "const", "enum", "default"]);

/**
 * Copies each `summary` and `description` of a document that the plugin has written to the same place in the target, if it exists
 * there: comments of proto files, which generated code does not contain.
 */
function copyTexts(target: JsonObject, source: JsonObject): void {
  for (const name of ["summary", "description"]) {
    if (typeof source[name] === "string") target[name] = source[name];
  }
  for (const [name, value] of Object.entries(target)) {
    const found = source[name];
    if (VALUE_KEYWORDS.has(name) || found === undefined) continue;
    if (!Array.isArray(value)) {
      // A contract has no descriptor: its schemas are in its document alone.
      if (isObject(value) && Object.keys(value).length === 0) target[name] = structuredClone(found);
      else if (isObject(value) && isObject(found)) copyTexts(value, found);
    } else if (Array.isArray(found)) {
      for (const [index, one] of value.entries()) copyToElement(one, found, index);
    }
  }
}

/** Elements with names, such as parameters and tags, may have other places in the source. */
function copyToElement(one: JsonValue, found: readonly JsonValue[], index: number): void {
  if (!isObject(one)) return;
  const { name } = one;
  const same = name === undefined ? found[index] : found.find((other) => isObject(other) && other["name"] === name);
  if (isObject(same)) copyTexts(one, same);
}
