/**
 * Entry point `triple-es/mcp`: methods of a router as tools of the Model Context Protocol.
 *
 * @module triple-es/mcp
 */
export { addMcp } from "./mcp/resource.ts";
