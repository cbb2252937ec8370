/**
 * Entry point `triple-es/mcp`: methods of a router as tools of the Model Context Protocol.
 *
 * @module triple-es/mcp
 */
import { ToolResource } from "./mcp/resource.ts";
import type { Router } from "./server/router.ts";

/**
 * Serves methods of a router or server as tools of the Model Context Protocol, at `POST /mcp`, or at the path of the options.
 * `methods` are the full names of unary and server streaming methods, such as `greet.v1.GreetService.Greet`; their services have
 * been added before. Calls pass the interceptors and limits of the methods; every client that reaches the server can list the
 * tools. Comments are those of `addOpenApi`, if it was called before. Requests of pages are refused unless `cors` allows their
 * origin.
 *
 * Throws a `TypeError` for a method that was not added or cannot be a tool, and for an invalid option.
 */
export function addMcp(
  router: Router,
  methods: readonly string[],
  options: { readonly path?: string | undefined } = {},
): void {
  router.mount(new ToolResource(router, methods, options));
}
