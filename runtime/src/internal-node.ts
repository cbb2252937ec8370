/**
 * Entry point `triple-es/internal/node`: what the package `triple-es-dubbo` of the same version needs on Node in addition to
 * the public API. It is no part of that API, and changes without notice.
 *
 * @module triple-es/internal/node
 */
import type { ClientTlsOptions } from "./node/client/transport-options.ts";
import { clientTls } from "./node/io/tls-options.ts";

export { connectionError } from "./connection/error.ts";
export { connect, networkInterfaces } from "./node/platform.ts";

/** Returns the options of TLS for a new connection: with the current contents of files, and the check of the server's id. */
export const currentTlsOptions: (options: ClientTlsOptions) => ClientTlsOptions = clientTls;
