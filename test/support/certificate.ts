/** Keys and certificates for tests, created by openssl during the tests, so that none is stored. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** True if certificates can be created. Tests that need one are skipped otherwise. */
export const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface Certificates {
  /** The certificate authority that both sides trust. */
  readonly ca: string;
  /** The certificate for 127.0.0.1 and localhost. */
  readonly server: Certificate;
  readonly client: Certificate;
  /** A client certificate with names in addition to its common name: shop.example and spiffe://example/shop. */
  readonly named: Certificate;
  /** A server certificate without a host: spiffe://example/service. */
  readonly service: Certificate;
  /** A certificate that no trusted authority has signed. */
  readonly stranger: Certificate;
  /** A certificate of the trusted authority that has expired. */
  readonly expired: Certificate;
}

const EC_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/** Configuration of `openssl ca`, the command that can set dates. */
const CA_CONFIG = `[ca]
default_ca = authority
[authority]
database = index.txt
serial = serial.txt
default_md = sha256
policy = any
[any]
commonName = supplied
`;

let shared: Certificates | undefined;

/** The certificates of one authority that all tests of this process share: openssl takes a third of a second for them. */
export function sharedCertificates(): Certificates {
  shared ??= createCertificates();
  return shared;
}

/** Creates an authority of its own, and its certificates for servers and clients. */
export function createCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), "triple-es-"));
  const at = (name: string): string => join(folder, name);
  const openssl = (...args: string[]): void => {
    execFileSync("openssl", args, { stdio: "pipe" });
  };
  const read = (name: string): Certificate => ({
    cert: readFileSync(at(`${name}.crt`), "utf8"),
    key: readFileSync(at(`${name}.key`), "utf8"),
  });
  const selfSigned = (name: string): void => {
    const files = ["-keyout", at(`${name}.key`), "-out", at(`${name}.crt`)];
    openssl("req", "-x509", ...EC_KEY, ...files, "-days", "1", "-subj", `/CN=${name}`);
  };
  const expired = (name: string): void => {
    openssl("req", ...EC_KEY, "-keyout", at(`${name}.key`), "-out", at(`${name}.csr`), "-subj", `/CN=${name}`);
    const dates = ["-startdate", "20200101000000Z", "-enddate", "20200102000000Z"];
    writeFileSync(at("ca.cnf"), CA_CONFIG);
    writeFileSync(at("index.txt"), "");
    writeFileSync(at("serial.txt"), "01");
    const issuer = ["-config", at("ca.cnf"), "-cert", at("ca.crt"), "-keyfile", at("ca.key")];
    const files = ["-in", at(`${name}.csr`), "-out", at(`${name}.crt`), "-outdir", folder];
    execFileSync("openssl", ["ca", "-batch", "-notext", ...issuer, ...files, ...dates], { stdio: "pipe", cwd: folder });
  };
  const signed = (name: string, extensions: string): void => {
    openssl("req", ...EC_KEY, "-keyout", at(`${name}.key`), "-out", at(`${name}.csr`), "-subj", `/CN=${name}`);
    writeFileSync(at(`${name}.ext`), extensions);
    const issuer = ["-CA", at("ca.crt"), "-CAkey", at("ca.key"), "-CAcreateserial"];
    const files = ["-in", at(`${name}.csr`), "-out", at(`${name}.crt`), "-extfile", at(`${name}.ext`)];
    openssl("x509", "-req", ...issuer, ...files, "-days", "1");
  };
  try {
    selfSigned("ca");
    signed("server", "subjectAltName=DNS:localhost,IP:127.0.0.1");
    signed("client", "extendedKeyUsage=clientAuth");
    signed("named", "subjectAltName=DNS:shop.example,URI:spiffe://example/shop\nextendedKeyUsage=clientAuth");
    signed("service", "subjectAltName=URI:spiffe://example/service");
    selfSigned("stranger");
    expired("expired");
    return {
      ca: read("ca").cert,
      server: read("server"),
      client: read("client"),
      named: read("named"),
      service: read("service"),
      stranger: read("stranger"),
      expired: read("expired"),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
