/** The table of routes: finds the route of a method and path. Literal segments take precedence over `*`, and `*` over `**`. */
import { decodeSegment, type PathTemplate } from "./template.ts";

/** A route, as the table needs it. */
export interface TableRoute {
  /** The HTTP method, or `*` for all methods. */
  readonly method: string;
  readonly template: PathTemplate;
}

/** A route with the segments of the path that it matched, still percent-encoded and without a verb. */
export interface RouteMatch<Route> {
  readonly route: Route;
  readonly segments: readonly string[];
}

/** Routes whose templates begin with the same segments. */
interface TableNode<Route> {
  readonly literals: Map<string, TableNode<Route>>;
  star: TableNode<Route> | undefined;
  /** Routes that end here, by verb. */
  readonly ends: Map<string, Route>;
  /** Routes that end with `**` here, by verb. */
  readonly rest: Map<string, Route>;
}

export class RouteTable<Route extends TableRoute> {
  /** The first node of each HTTP method. */
  readonly #roots = new Map<string, TableNode<Route>>();

  /** Adds a route. Returns the route that has the same method and matches the same paths, if there is one, instead. */
  add(route: Route): Route | undefined {
    const { method, template } = route;
    let node = this.#roots.get(method) ?? createNode<Route>();
    this.#roots.set(method, node);
    for (const segment of template.segments) {
      if (segment === "**") break;
      node = childOf(node, segment);
    }
    const ends = template.segments.at(-1) === "**" ? node.rest : node.ends;
    const known = ends.get(template.verb);
    if (known === undefined) ends.set(template.verb, route);
    return known;
  }

  /** Finds the route of a request. Routes of its method, and of GET for HEAD, take precedence over those of all methods. */
  find(method: string, path: string): RouteMatch<Route> | undefined {
    const found = this.#findIn(method, path) ?? (method === "HEAD" ? this.#findIn("GET", path) : undefined);
    return found ?? this.#findIn("*", path);
  }

  /** Returns the HTTP methods of the routes that match the path. */
  methodsAt(path: string): string[] {
    return [...this.#roots.keys()].filter((method) => this.#findIn(method, path) !== undefined);
  }

  #findIn(method: string, path: string): RouteMatch<Route> | undefined {
    const root = this.#roots.get(method);
    if (root === undefined || !path.startsWith("/")) return undefined;
    const segments = path === "/" ? [] : path.slice(1).split("/");
    const last = segments.at(-1) ?? "";
    const colon = last.lastIndexOf(":");
    if (colon >= 0) {
      const verb = decodeSegment(last.slice(colon + 1)) ?? "";
      const withoutVerb = [...segments.slice(0, -1), last.slice(0, colon)];
      const route = verb === "" ? undefined : search(root, withoutVerb, 0, verb);
      if (route !== undefined) return { route, segments: withoutVerb };
    }
    const route = search(root, segments, 0, "");
    return route === undefined ? undefined : { route, segments };
  }
}

function createNode<Route>(): TableNode<Route> {
  return { literals: new Map(), star: undefined, ends: new Map(), rest: new Map() };
}

function childOf<Route>(node: TableNode<Route>, segment: { readonly literal: string } | "*"): TableNode<Route> {
  if (segment === "*") {
    node.star ??= createNode();
    return node.star;
  }
  const child = node.literals.get(segment.literal) ?? createNode<Route>();
  node.literals.set(segment.literal, child);
  return child;
}

/**
 * Searches with backtracking. Each node is reached by one sequence of segments only, so a search visits it at most once, and
 * its depth is that of the templates. `*` does not match an empty segment; `**` matches any number of segments.
 */
function search<Route>(
  node: TableNode<Route>,
  segments: readonly string[],
  index: number,
  verb: string,
): Route | undefined {
  const segment = segments[index];
  if (segment === undefined) return node.ends.get(verb) ?? node.rest.get(verb);
  const literal = node.literals.get(decodeSegment(segment) ?? segment);
  return (
    (literal && search(literal, segments, index + 1, verb)) ??
    (segment === "" || node.star === undefined ? undefined : search(node.star, segments, index + 1, verb)) ??
    node.rest.get(verb)
  );
}
