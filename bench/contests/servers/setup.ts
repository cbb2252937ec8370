/** The setup of a server: `plain`, or the one that a contest names. */
import { createCertificates } from "../../../test/support/certificate.ts";

export type Setup = "plain" | "tls" | "interceptors" | "many-streams" | "methods-10" | "methods-10000";

export const setup = (process.argv[2] ?? "plain") as Setup;

/** Key and certificate for TLS; `undefined` in cleartext. */
export const tls: { readonly cert: string; readonly key: string } | undefined =
  setup === "tls" ? createCertificates().server : undefined;

/** Number of methods of the contests that count them; 0 in others. */
export const methodCount: number = setup === "methods-10" ? 10 : setup === "methods-10000" ? 10_000 : 0;
