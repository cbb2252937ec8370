/** Certificates from files, and their reload. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createSecureContext, type SecureContext, type SecureContextOptions, type TlsOptions } from "node:tls";
import { CERTIFICATES } from "./configuration.ts";

/** Reads a certificate, its key, and the authority that both sides trust. */
export function readCertificate(name: string): SecureContextOptions {
  const read = (file: string): Buffer => readFileSync(join(CERTIFICATES, file));
  return { key: read(`${name}.key`), cert: read(`${name}.crt`), ca: read("ca.crt") };
}

/** The certificate of a server, which new connections get from memory. */
export class ReloadedCertificate {
  readonly #name: string;
  #context: SecureContext;

  constructor(name: string) {
    this.#name = name;
    this.#context = createSecureContext(readCertificate(name));
  }

  /** Reads the files again. If they are invalid, it throws, and the certificate remains. */
  reload(): void {
    this.#context = createSecureContext(readCertificate(this.#name));
  }

  /** Options of a server. `SNICallback` is called for each connection of a client that sends the server's name. */
  options(): TlsOptions {
    return { ...readCertificate(this.#name), SNICallback: (_name, callback) => callback(null, this.#context) };
  }
}
