/**
 * Creates the certificates of this example with openssl, in the folder `certs`: `npm run certificates`. With a name it renews one:
 * `npm run certificates -- server`. In production a certificate authority does this, such as cert-manager, Vault or SPIRE.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CERTIFICATES } from "./configuration.ts";

/** The names in each certificate. Services are identified by URIs of SPIFFE, and the server by its host. */
const NAMES: Readonly<Record<string, string>> = {
  server: "subjectAltName=DNS:localhost,IP:127.0.0.1",
  warehouse: "subjectAltName=URI:spiffe://shop.example/warehouse\nextendedKeyUsage=clientAuth",
  reporting: "subjectAltName=URI:spiffe://shop.example/reporting\nextendedKeyUsage=clientAuth",
};

const KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

const at = (name: string): string => join(CERTIFICATES, name);
const openssl = (...args: string[]): unknown => execFileSync("openssl", args, { stdio: "pipe" });

function createAuthority(name: string): void {
  if (existsSync(at(`${name}.crt`))) return;
  const files = ["-keyout", at(`${name}.key`), "-out", at(`${name}.crt`)];
  openssl("req", "-x509", ...KEY, ...files, "-days", "30", "-subj", `/CN=${name}`);
}

/** Signs a new key. Both files are moved into place, because programs may read them at any time. */
function createCertificate(name: string, extensions: string, authority: string): void {
  openssl("req", ...KEY, "-keyout", at(`${name}.key.new`), "-out", at(`${name}.csr`), "-subj", `/CN=${name}`);
  writeFileSync(at(`${name}.ext`), extensions);
  const issuer = ["-CA", at(`${authority}.crt`), "-CAkey", at(`${authority}.key`), "-CAcreateserial"];
  const files = ["-in", at(`${name}.csr`), "-out", at(`${name}.crt.new`), "-extfile", at(`${name}.ext`)];
  openssl("x509", "-req", ...issuer, ...files, "-days", "1");
  for (const kind of ["key", "crt"]) renameSync(at(`${name}.${kind}.new`), at(`${name}.${kind}`));
}

mkdirSync(CERTIFICATES, { recursive: true });
createAuthority("ca");
// A client whose certificate another authority has signed; the server refuses it.
createAuthority("other-ca");

const wanted = process.argv.slice(2);
for (const name of wanted) {
  if (NAMES[name] === undefined)
    throw new Error(`there is no "${name}"; the names are ${Object.keys(NAMES).join(", ")}`);
}
for (const [name, extensions] of Object.entries(NAMES)) {
  if (wanted.length === 0 || wanted.includes(name)) createCertificate(name, extensions, "ca");
}
if (wanted.length === 0) createCertificate("stranger", NAMES["warehouse"] ?? "", "other-ca");
console.log(`certificates are in ${CERTIFICATES}`);
