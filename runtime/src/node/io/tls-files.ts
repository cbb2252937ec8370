/**
 * Certificates and keys in files, also those that are replaced while the program runs, as gRFC A29 describes.
 *
 * Files are read when a connection begins, not by a timer and not by `fs.watch`: a connection never gets a certificate that was
 * replaced before, nothing needs to be stopped, and the exchange of a symbolic link, as Kubernetes does it, a file that is
 * written in place, and a file system without notifications are all the same case. Contents are compared, because times of
 * modification may be equal. Reading three small files takes less time than a handshake; they should be on a local disk.
 */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { reasonOf, reportFailure } from "../../call/error.ts";
import { now } from "../../call/platform.ts";
import type { ClientTlsOptions } from "../client/transport-options.ts";

/** The options that name files, and the options of `node:tls` that get their contents. */
const OPTION_OF = { certFile: "cert", keyFile: "key", caFile: "ca" } as const;
const FILE_OPTIONS = Object.keys(OPTION_OF) as (keyof typeof OPTION_OF)[];

/** TLS options that may name files. */
export type TlsFileOptions = SecureContextOptions & Pick<ClientTlsOptions, keyof typeof OPTION_OF | "reload">;

/** Age at which the contents are compared again, in milliseconds: a flood of connections must not become one of reads. */
const CHECK_MS = 100;

/** The last valid contents of the files that an object of options names. */
interface Loaded {
  texts: readonly (string | undefined)[];
  options: SecureContextOptions;
  checkedAt: number;
  /** The last problem that was reported, until the files are valid again. */
  problem: string | undefined;
}

const loaded = new WeakMap<TlsFileOptions, Loaded>();

/**
 * Returns the options with the contents of their files: the same object until these change. Throws an `Error` if files are
 * missing or invalid when they are read for the first time. Later, with the option `reload`, it reports that once, and returns
 * the previous contents: certificate, key and authorities are replaced together, or not at all.
 */
export function currentTls<Options extends TlsFileOptions>(options: Options): Options {
  if (FILE_OPTIONS.every((name) => options[name] === undefined)) return options;
  let known = loaded.get(options);
  if (known === undefined) {
    known = { ...load(options), checkedAt: now(), problem: undefined };
    loaded.set(options, known);
  } else if (options.reload && now() - known.checkedAt >= CHECK_MS) {
    known.checkedAt = now();
    try {
      Object.assign(known, load(options, known), { problem: undefined });
    } catch (error) {
      const problem = reasonOf(error);
      if (problem !== known.problem) reportFailure("reload of tls (the previous files stay in use)", error);
      known.problem = problem;
    }
  }
  return known.options as Options;
}

/** Reads the files, and once more if they are invalid: they may have been replaced between two reads. */
function load(options: TlsFileOptions, known?: Loaded): Pick<Loaded, "texts" | "options"> {
  try {
    return read(options, known);
  } catch {
    return read(options, known);
  }
}

function read({ certFile, keyFile, caFile, reload, ...others }: TlsFileOptions, known: Loaded | undefined) {
  const paths = { certFile, keyFile, caFile };
  const texts = FILE_OPTIONS.map((name) => readText(name, paths[name]));
  if (known !== undefined && texts.every((text, index) => text === known.texts[index])) return known;
  const options: SecureContextOptions = { ...others };
  for (const [index, name] of FILE_OPTIONS.entries()) {
    const text = texts[index];
    if (text === undefined) continue;
    if (name !== "keyFile") checkCertificates(text, `tls.${name} ${paths[name]}`);
    options[OPTION_OF[name]] = text;
  }
  if (keyFile !== undefined) {
    try {
      createSecureContext(options);
    } catch (cause) {
      throw new Error(`tls.keyFile ${keyFile} does not fit tls.certFile ${certFile}: ${reasonOf(cause)}`, { cause });
    }
  }
  return { texts, options };
}

function readText(name: string, path: string | undefined): string | undefined {
  try {
    return path && readFileSync(path, "utf8");
  } catch (cause) {
    throw new Error(`tls.${name} cannot be read: ${reasonOf(cause)}`, { cause });
  }
}

/** Throws an `Error` for a file without a certificate, or with an incomplete one, which OpenSSL ignores in a list of authorities. */
function checkCertificates(text: string, file: string): void {
  // Keys and the parameters of their curves may stand beside them.
  const certificates = text.split("-----BEGIN ").filter((block) => block.split("-----", 1)[0]?.endsWith("CERTIFICATE"));
  try {
    for (const block of certificates) new X509Certificate(`-----BEGIN ${block}`);
  } catch (cause) {
    throw new Error(`${file} has an invalid certificate: ${reasonOf(cause)}`, { cause });
  }
  if (certificates.length === 0) throw new Error(`${file} has no certificate`);
}
