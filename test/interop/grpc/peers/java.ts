/**
 * grpc-java with its own interop programs, from the jars of Maven Central. They use and trust the certificates in the jars,
 * so the TLS cases use those on both sides.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CACHE } from "../../../support/go.ts";
import { MissingPeer, readCredentials } from "../../peer.ts";
import { CaseProgram, outputOf, startProgram } from "../../program.ts";
import { type CaseName, caseNames } from "../cases.ts";
import type { PeerSetup } from "../peer.ts";

const VERSION = "1.79.0";
const PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies";
/** The name in the certificate of the jars. */
const SERVERNAME = "foo.test.google.fr";

/**
 * Cases that its server does not support: it never checks whether a message was compressed, so its own client fails too,
 * and it compresses only unary responses on demand.
 */
const UNSUPPORTED: readonly CaseName[] = [
  "client_compressed_unary",
  "client_compressed_streaming",
  "server_compressed_streaming",
];

const POM = `<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>triple-es</groupId>
  <artifactId>interop</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>io.grpc</groupId>
      <artifactId>grpc-interop-testing</artifactId>
      <version>${VERSION}</version>
    </dependency>
  </dependencies>
</project>
`;

/** Returns the folder with the jars. Downloads them first, if needed. */
function fetchJars(): string {
  const folder = join(CACHE, "java", `grpc-interop-testing-${VERSION}`);
  if (existsSync(folder)) return folder;
  console.log(`Fetching io.grpc:grpc-interop-testing:${VERSION}, once; this takes a minute`);
  const fetching = `${folder}.${process.pid}`;
  mkdirSync(fetching, { recursive: true });
  try {
    writeFileSync(join(fetching, "pom.xml"), POM);
    const args = ["--batch-mode", "--quiet", PLUGIN, `-DoutputDirectory=${fetching}`];
    const { status, stdout, error } = spawnSync("mvn", args, { cwd: fetching, encoding: "utf8" });
    if (status !== 0) throw new MissingPeer(`mvn failed: ${error?.message ?? stdout.slice(-2000)}`);
    // The certificates of the test authority.
    for (const name of ["ca.pem", "server1.pem", "server1.key"]) {
      const jar = join(fetching, `grpc-testing-${VERSION}.jar`);
      spawnSync("jar", ["--extract", "--file", jar, `certs/${name}`], { cwd: fetching });
    }
    renameSync(fetching, folder);
  } finally {
    rmSync(fetching, { recursive: true, force: true });
  }
  return folder;
}

export const setUpJava: PeerSetup = async () => {
  if (outputOf("java", "-version") === undefined) throw new MissingPeer("there is no java on the PATH");
  if (outputOf("mvn", "--version") === undefined) throw new MissingPeer("there is no mvn on the PATH");
  const jars = fetchJars();
  const cert = (name: string): string => join(jars, "certs", name);
  const files = { ca: cert("ca.pem"), cert: cert("server1.pem"), key: cert("server1.key") };
  // Programs that run for seconds do not need to be optimised.
  const java = ["java", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp", join(jars, "*")];
  const cases = fileURLToPath(new URL("Cases.java", import.meta.url));
  const client = new CaseProgram([...java, cases]);
  return {
    name: "grpc-java",
    version: VERSION,
    credentials: readCredentials(files, SERVERNAME),
    clientCases: caseNames,
    serverCases: caseNames.filter((name) => !UNSUPPORTED.includes(name)),
    runCase(name, { port, credentials }) {
      const secured = ["--use_test_ca=true", `--server_host_override=${SERVERNAME}`];
      return client.run(
        "--server_host=127.0.0.1",
        `--server_port=${port}`,
        `--test_case=${name}`,
        `--use_tls=${credentials !== undefined}`,
        ...(credentials === undefined ? [] : secured),
      );
    },
    startServer: (credentials) =>
      startProgram((port) => [
        ...java,
        "io.grpc.testing.integration.TestServiceServer",
        `--port=${port}`,
        `--use_tls=${credentials !== undefined}`,
      ]),
    start: client.start,
    stop: client.stop,
  };
};
