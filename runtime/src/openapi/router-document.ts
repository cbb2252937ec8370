/** The OpenAPI document of a router, and the resource that serves it. */
import type { Exchange, HttpRequest } from "../http/exchange.ts";
import { routesOfRouter } from "../rest/routes.ts";
import { type AddedService, assertResourcePath, type Resource, readOnly, textResponse } from "../server/resource.ts";
import type { Router } from "../server/router.ts";
import { FileIndex } from "../services/file-index.ts";
import { buildDocument, type OpenApiDocument, type OpenApiOptions, type RoutedService } from "./document.ts";

type DocumentOptions = NonNullable<Parameters<typeof createOpenApi>[1]>;

/** gRPC's own package, with the services for health checking and reflection. */
const GRPC_PACKAGE = /^grpc\./;

/**
 * Returns the OpenAPI 3.1 document of the services that have been added to a router or server: the JSON form of HTTP RPC at
 * `/<service>/<method>`, and, if `addRest` has been called, its routes. Without `includeGrpcServices`, health checking and
 * reflection are left out. Throws a `TypeError` for an invalid option.
 *
 * Comments are those of `options.documents`, and of files of the services that have source info.
 */
export function createOpenApi(
  router: Pick<Router, "services" | "resources">,
  options: OpenApiOptions & {
    /**
     * True: the document also describes gRPC's own services, which are those of the package `grpc`: health checking and
     * reflection. Default: false.
     */
    readonly includeGrpcServices?: boolean | undefined;
  } = {},
): OpenApiDocument {
  const index = new FileIndex();
  const services = options.includeGrpcServices
    ? router.services
    : router.services.filter(({ service }) => !GRPC_PACKAGE.test(service.typeName));
  for (const { service } of services) index.addService(service);
  return buildDocument(routedServices(services, router.resources), options, index.files());
}

/** Joins the versions and groups of each service. */
function routedServices(services: Router["services"], resources: Router["resources"]): RoutedService[] {
  const byName = new Map<string, AddedService[]>();
  for (const added of services) {
    const { typeName } = added.service;
    byName.set(typeName, [...(byName.get(typeName) ?? []), added]);
  }
  const routes = routesOfRouter(resources);
  return [...byName].map(([typeName, added]) => ({
    typeName,
    // Versions of an interface may have different methods.
    methods: [...new Set(added.flatMap(({ service }) => Object.values(service.methods)))],
    selectors: added.map(({ selector }) => selector),
    routes: routes.filter(({ target }) => target.service === typeName),
  }));
}

/**
 * Serves the OpenAPI 3.1 document of a router or server at `GET /openapi.json`. It describes the services that have
 * been added when it is requested. Every client that can call the services can read it. Throws a `TypeError` for an
 * invalid option.
 */
export function addOpenApi(
  router: Router,
  options: Parameters<typeof createOpenApi>[1] & { readonly path?: string | undefined } = {},
): void {
  const { path = "/openapi.json" } = options;
  assertResourcePath("the document", path);
  router.mount(new DocumentResource(router, path, options));
}

/** The resource that serves the document at a path. Its constructor throws a `TypeError` for an invalid option. */
export class DocumentResource implements Resource {
  readonly options: DocumentOptions;
  readonly #router: Pick<Router, "services" | "resources">;
  readonly path: string;
  /** The text of the document, with the prefix of the request, and the number of services and resources that it describes. */
  #known: { readonly state: string; readonly text: string } | undefined;

  constructor(router: Pick<Router, "services" | "resources">, path: string, options: DocumentOptions) {
    // Reports invalid options when the server starts.
    buildDocument([], options, []);
    this.options = options;
    this.#router = router;
    this.path = path;
  }

  readonly serves = ({ path }: Pick<HttpRequest, "path">): boolean => path === this.path;

  readonly exchange: Exchange = readOnly(({ prefix }) => textResponse(200, "application/json", this.#text(prefix)));

  /** Returns the document for a path prefix, below which the default server is. */
  #text(prefix = ""): string {
    const { services, resources } = this.#router;
    const state = `${services.length} ${resources.length} ${prefix}`;
    if (this.#known?.state !== state) {
      const servers = this.options.servers ?? [{ url: prefix || "/" }];
      this.#known = { state, text: JSON.stringify(createOpenApi(this.#router, { ...this.options, servers })) };
    }
    return this.#known.text;
  }
}
