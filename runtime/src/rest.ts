/** Entry point `triple-es/rest`: routes of REST for the methods of a router, by the annotation `google.api.http`. */
export { addRest, type RestBinding, type RestOptions, type RestRule } from "./rest/routes.ts";
