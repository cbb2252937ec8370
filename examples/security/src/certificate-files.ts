/** Certificates in files. */
import { join } from "node:path";
import { CERTIFICATES } from "./configuration.ts";

/** The options of TLS for a certificate, its key and the authority that both sides trust. New connections use renewed files. */
export function certificateFiles(name: string) {
  const at = (file: string): string => join(CERTIFICATES, file);
  return { certFile: at(`${name}.crt`), keyFile: at(`${name}.key`), caFile: at("ca.crt"), reload: true };
}
