/** The common parts of all matrices: credentials, addresses of servers, outcomes of cases, and missing peers. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sharedCertificates } from "../support/certificate.ts";

/** Certificates for the TLS half of a matrix, in PEM and as files. */
export interface Credentials {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly files: { readonly ca: string; readonly cert: string; readonly key: string };
  /** The name in the server's certificate. */
  readonly servername: string;
}

/** Returns the address of a server; over TLS if there are credentials. */
export interface Target {
  readonly port: number;
  readonly credentials: Credentials | undefined;
}

/** A peer that is not available, with the reason. */
export class MissingPeer extends Error {}

/** Runs a setup. Returns `undefined` if it throws {@link MissingPeer}, whose reason is added to the skipped ones. */
export async function unlessMissing<T>(
  name: string,
  skipped: string[],
  setUp: () => T | Promise<T>,
): Promise<T | undefined> {
  try {
    return await setUp();
  } catch (error) {
    if (!(error instanceof MissingPeer)) throw error;
    skipped.push(`SKIPPED ${name}: ${error.message}`);
    return undefined;
  }
}

/** Reads credentials from files. */
export function readCredentials(files: Credentials["files"], servername: string): Credentials {
  const read = (path: string): string => readFileSync(path, "utf8");
  return { ca: read(files.ca), cert: read(files.cert), key: read(files.key), files, servername };
}

/** Creates credentials, and writes them to files in the folder. */
export function writeCredentials(folder: string): Credentials {
  const { ca, server } = sharedCertificates();
  const write = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const files = { ca: write("ca.pem", ca), cert: write("cert.pem", server.cert), key: write("key.pem", server.key) };
  return readCredentials(files, "localhost");
}

/** Time limit of a case, including the start of a program. */
const CASE_TIMEOUT_MS = 30_000;

/** Runs a case. Returns its error, or `undefined` if it passed. A case that exceeds the time limit has failed. */
export async function failureOf(run: Promise<unknown>): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not over after ${CASE_TIMEOUT_MS} ms`)), CASE_TIMEOUT_MS);
  });
  try {
    await Promise.race([run, late]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  } finally {
    clearTimeout(timer);
  }
}
