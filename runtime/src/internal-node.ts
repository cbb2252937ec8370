/**
 * Entry point `triple-es/internal/node`: what the package `triple-es-dubbo` of the same version needs on Node in addition to
 * the public API. It is no part of that API, and changes without notice.
 *
 * @module triple-es/internal/node
 */
import type { ClientTlsOptions } from "./node/client/transport-options.ts";
import { currentTls } from "./node/io/tls-files.ts";

export { connectionError } from "./node/io/error.ts";
export { connect, networkInterfaces } from "./node/platform.ts";

/** Returns options of TLS with the current contents of the files that they name, for a new connection. */
export const currentTlsOptions: (options: ClientTlsOptions) => ClientTlsOptions = currentTls;
