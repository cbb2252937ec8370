/**
 * Entry point `triple-es/query`: options of TanStack Query for the methods of clients.
 *
 * @module triple-es/query
 */
export { createQueries, type Queries } from "./client/queries.ts";
