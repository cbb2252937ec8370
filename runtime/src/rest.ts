/**
 * Entry point `triple-es/rest`: routes of REST for the methods of a router, by the annotation `google.api.http`.
 *
 * @module triple-es/rest
 */
export { addRest, type RestRule } from "./rest/routes.ts";
