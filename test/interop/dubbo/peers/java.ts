/** Dubbo for Java from Maven Central, with the program in `java/` and stubs of Dubbo's compiler. */
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MissingPeer, type Target } from "../../peer.ts";
import { outputOf, runProgram, startProgram } from "../../program.ts";
import { buildOnce, fetchStep, filesIn, PEER_PROTO, PEERS, PROTOS, step } from "../build.ts";
import { type DubboPeer, readOutcomes } from "../peer.ts";

const PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies";

/** The version of Dubbo, and the newest version of the compiler of stubs that works with it. */
export const JAVA_VERSIONS = [
  { name: "Java 3.3", dubbo: "3.3.6", compiler: "3.3.5" },
  { name: "Java 3.2", dubbo: "3.2.19", compiler: "3.2.10" },
] as const;

const PROTOBUF = "3.25.5";
/** Version of JAXB. With it on the class path, Dubbo 3.3 accepts XML. */
const JAXB = "2.3.9";
/** Version of Curator, the client of ZooKeeper in Dubbo. */
const CURATOR = "5.7.1";
/** Version of Dubbo's client of Nacos. */
const NACOS_CLIENT = "2.5.1";

/** Programs that run for a few seconds need neither much memory nor the second compiler. */
export const JVM: readonly string[] = [
  "-Xmx192m",
  "-XX:TieredStopAtLevel=1",
  "-XX:+UseSerialGC",
  "-Xshare:auto",
  // The Netty in Dubbo 3.3.6 verifies the name of the server, but Dubbo does not pass the name to it.
  "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
];

/** The Hessian of 3.2 needs these options from Java 16 on, to read fields of exceptions and large numbers. */
const OPENED = ["java.lang", "java.math"].map((name) => `--add-opens=java.base/${name}=ALL-UNNAMED`);

/** With this setting, group and version are compared exactly. */
const EXACT = ["env", "DUBBO_RPC_TRI_RESOLVE_FALLBACK_TO_DEFAULT=false"];

type Version = (typeof JAVA_VERSIONS)[number];

/** Builds the program, and creates a peer. Throws a {@link MissingPeer} if that is not possible. */
export function setUpJava(version: Version): DubboPeer {
  checkJava();
  const main = javaCommand(version, "Main");
  const [http, bodies] = (["HttpCases", "HttpBodies"] as const).map((name) => javaCommand(version, name)) as [
    string[],
    string[],
  ];
  const runClient = async (services: "client" | "plain" | "generic", { port, credentials }: Target) => {
    const tls = credentials === undefined ? [] : Object.values(credentials.files);
    return readOutcomes(await runProgram([...main, services, String(port), ...tls]));
  };
  return {
    name: version.name,
    version: version.dubbo,
    // 3.2 does not serve the Java name of a service with a proto file.
    javaNames: !isOld(version.dubbo),
    alpn: false,
    httpRpc: !isOld(version.dubbo),
    plainHttpRpc: !isOld(version.dubbo),
    // The HTTP client of the JDK, which is the same for every version of Dubbo.
    ...(version === JAVA_VERSIONS[0] && {
      runHttpClient: async (port: number) => readOutcomes(await runProgram([...http, String(port)])),
      runHttpBodies: async (port: number) => readOutcomes(await runProgram([...bodies, String(port)])),
    }),
    startServer: (own) =>
      startProgram((port) => [...main, "server", String(port), ...(own ? [own.files.cert, own.files.key] : [])], {
        ready: "ready",
      }),
    ...(!isOld(version.dubbo) && {
      startHttpServer: () =>
        startProgram((port) => [...EXACT, ...main, "http-server", String(port)], { ready: "ready" }),
    }),
    runClient: (target) => runClient("client", target),
    runPlainClient: (target) => runClient("plain", target),
    runGenericClient: (target) => runClient("generic", target),
  };
}

/** Throws a {@link MissingPeer} if a program that builds need is missing. */
export function checkJava(): void {
  for (const [program, option] of [
    ["java", "-version"],
    ["javac", "-version"],
    ["mvn", "--version"],
    ["protoc", "--version"],
  ] as const) {
    if (outputOf(program, option) === undefined) throw new MissingPeer(`there is no ${program} on the PATH`);
  }
}

const isOld = (dubbo: string): boolean => dubbo.startsWith("3.2.");

/** Returns the command that runs a class of the program. Builds the program first, if needed. */
export function javaCommand({ dubbo, compiler }: Version, name: string): string[] {
  const folder = buildJava(dubbo, compiler);
  const classes = `${join(folder, "program.jar")}:${join(folder, "jars", "*")}`;
  const options = [...JVM, ...(isOld(dubbo) ? OPENED : []), "-cp", classes];
  return [
    "java",
    `-XX:SharedArchiveFile=${archiveClasses(folder, options)}`,
    ...options,
    `com.example.interop.${name}`,
  ];
}

/**
 * Writes the loaded and verified classes of a server into an archive, which saves 40 % of the start of each JVM. It is valid for
 * the paths of the class path only, so its name depends on them.
 */
function archiveClasses(folder: string, options: readonly string[]): string {
  const archive = join(folder, `classes-${createHash("sha256").update(folder).digest("hex").slice(0, 16)}.jsa`);
  if (existsSync(archive)) return archive;
  const writing = `${archive}.${process.pid}`;
  step(folder, "java", [`-XX:ArchiveClassesAtExit=${writing}`, ...options, "com.example.interop.Main", "start", "0"]);
  renameSync(writing, archive);
  return archive;
}

function buildJava(dubbo: string, compiler: string): string {
  const sources = filesIn(join(PEERS, "java"));
  const protos = [PEER_PROTO, join(PROTOS, "interop", "v1", "catalog.proto")];
  return buildOnce(`dubbo-java-${dubbo}`, [...sources, ...protos, import.meta.filename], (building) => {
    const jars = fetchJars(building, "jars", [
      `org.apache.dubbo:dubbo:${dubbo}`,
      `com.google.protobuf:protobuf-java-util:${PROTOBUF}`,
      `org.glassfish.jaxb:jaxb-runtime:${JAXB}`,
      `org.apache.curator:curator-x-discovery:${CURATOR}`,
      `com.alibaba.nacos:nacos-client:${NACOS_CLIENT}`,
    ]);
    const generated = join(building, "generated");
    mkdirSync(generated);
    const generate = [`--java_out=${generated}`, ...stubOptions(building, generated, compiler)];
    step(building, "protoc", ["-I", PROTOS, ...generate, ...protos]);
    if (isOld(dubbo)) adaptStubs(filesIn(generated));
    const options = [
      "-nowarn",
      "-parameters",
      "-encoding",
      "UTF-8",
      "-d",
      join(building, "classes"),
      "-cp",
      `${jars}/*`,
    ];
    step(building, "javac", [...options, ...sources, ...filesIn(generated)]);
    // An archive of classes must not depend on folders.
    step(building, "jar", ["--create", "--file", "program.jar", "-C", "classes", "."]);
  });
}

/** Fetches the compiler of stubs. Returns the options with which protoc runs it. */
export function stubOptions(building: string, generated: string, compiler: string): string[] {
  const jars = fetchJars(building, "compiler", [`org.apache.dubbo:dubbo-compiler:${compiler}`]);
  const plugin = join(building, "protoc-gen-dubbo");
  const main = "org.apache.dubbo.gen.tri.Dubbo3TripleGenerator";
  writeFileSync(plugin, `#!/bin/sh\nexec java -cp '${jars}/*' ${main}\n`);
  chmodSync(plugin, 0o755);
  return [`--plugin=protoc-gen-dubbo=${plugin}`, `--dubbo_out=${generated}`];
}

/**
 * No compiler on Maven Central generates stubs for the newest 3.2: there, descriptors of methods do not refer to their
 * service, but the service refers to its methods.
 */
function adaptStubs(generated: readonly string[]): void {
  for (const file of generated.filter((name) => name.endsWith("Triple.java"))) {
    const text = readFileSync(file, "utf8").replaceAll("serviceDescriptor, MethodDescriptor", "MethodDescriptor");
    const adapted = text.replaceAll(
      /StubMethodDescriptor (\w+) = new [^;]*;/g,
      (declared, name) => `${declared}\n    static { serviceDescriptor.addMethod(${name}); }`,
    );
    writeFileSync(file, adapted);
  }
}

/** Copies artifacts and their dependencies with Maven, each named as group:name:version. */
export function fetchJars(building: string, name: string, artifacts: readonly string[]): string {
  const folder = join(building, name);
  mkdirSync(folder);
  const dependencies = artifacts.map((artifact) => {
    const [group, id, version] = artifact.split(":");
    return `<dependency><groupId>${group}</groupId><artifactId>${id}</artifactId><version>${version}</version></dependency>`;
  });
  writeFileSync(
    join(folder, "pom.xml"),
    `<project><modelVersion>4.0.0</modelVersion><groupId>triple-es</groupId><artifactId>${name}</artifactId>` +
      `<version>1</version><packaging>pom</packaging><dependencies>${dependencies.join("")}</dependencies></project>\n`,
  );
  fetchStep(folder, "mvn", ["--batch-mode", "--quiet", PLUGIN, `-DoutputDirectory=${folder}`]);
  return folder;
}
