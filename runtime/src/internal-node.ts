/**
 * Entry point `triple-es/internal/node`: what the package `triple-es-dubbo` of the same version needs on Node in addition to
 * the public API. It is no part of that API, and changes without notice.
 *
 * @module triple-es/internal/node
 */
export { connectionError } from "./node/io/error.ts";
export { currentTls } from "./node/io/tls-files.ts";
export { connect, networkInterfaces } from "./node/platform.ts";
