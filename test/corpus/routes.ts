/** The routes of the corpus: each annotated API in a table of its own, as a server of that API would have it. */
import { createFileRegistry, type DescMethod, type DescService } from "@bufbuild/protobuf";
import type { FileDescriptorSet } from "@bufbuild/protobuf/wkt";
import type { ServiceDef } from "../../runtime/src/call/call.ts";
import type { ProtoMethod } from "../../runtime/src/call/method.ts";
import { RouteTable } from "../../runtime/src/rest/route-table.ts";
import { type Route, routesOf } from "../../runtime/src/rest/rule.ts";

/** Conflicts in the APIs themselves: their servers do not offer all of these methods by REST. */
export const KNOWN_CONFLICTS: readonly RegExp[] = [
  /^\/google\.cloud\.bigquery\.storage\.v1(?:beta[12])?\.BigQuery(?:Read|Write|Storage)\//,
  /^\/google\.cloud\.discoveryengine\.v1(?:alpha|beta)?\.ConversationalSearchService\/\w+Session/,
];

export interface RouteReport {
  /** Number of routes, those of additional bindings included. */
  readonly routes: number;
  /** Methods with an invalid rule, with the reason. */
  readonly invalid: readonly string[];
  /** Pairs of methods with the same route. */
  readonly conflicts: readonly string[];
  /** Routes whose example finds another route. */
  readonly lost: readonly string[];
}

/** Creates the routes of all services, and finds each one by an example of its paths. */
export function routeCorpus(set: FileDescriptorSet): RouteReport {
  const tables = new Map<string, RouteTable<Route>>();
  const added: { readonly route: Route; readonly table: RouteTable<Route> }[] = [];
  const invalid: string[] = [];
  const conflicts: string[] = [];
  const services = [...createFileRegistry(set).files].flatMap((file) => file.services);
  for (const descriptor of services) {
    const service = serviceOf(descriptor);
    const api = descriptor.file.proto.package;
    const table = tables.get(api) ?? new RouteTable<Route>();
    tables.set(api, table);
    for (const method of Object.values(service.methods)) {
      try {
        for (const route of routesOf(service, method as ProtoMethod, undefined)) {
          const known = table.add(route);
          if (known === undefined) added.push({ route, table });
          else if (known.target.path !== method.path) conflicts.push(`${known.target.path} ${method.path}`);
        }
      } catch (error) {
        invalid.push((error as Error).message);
      }
    }
  }
  const lost = added.filter(({ route, table }) => table.find(route.method, exampleOf(route))?.route !== route);
  return {
    routes: added.length,
    invalid: [...new Set(invalid)].sort(),
    conflicts: [...new Set(conflicts)].sort(),
    lost: lost.map(({ route: { method, template } }) => `${method} ${template.text}`),
  };
}

function serviceOf({ typeName, methods }: DescService): ServiceDef<object, object> {
  return { typeName, methods: Object.fromEntries(methods.map((method) => [method.localName, methodOf(method)])) };
}

function methodOf(descriptor: DescMethod): ProtoMethod {
  const { input, output, methodKind: kind, name, parent } = descriptor;
  const path = `/${parent.typeName}/${name}`;
  return { kind, service: parent.typeName, name, path, input, output, descriptor: () => descriptor };
}

/** A path that the route matches. Each wildcard has a segment that is a literal of no rule. */
function exampleOf({ template: { segments, verb } }: Route): string {
  const path = segments.map((one) => (typeof one === "string" ? "zz9" : encodeURIComponent(one.literal))).join("/");
  return `/${path}${verb === "" ? "" : `:${verb}`}`;
}
