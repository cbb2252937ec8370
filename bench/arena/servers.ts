/** The servers of the arenas, our entries and the peers, which are built in the cache when they are first needed. */
import { copyFileSync, cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildOnce, fetchStep, filesIn, step } from "../../test/interop/dubbo/build.ts";
import { checkJava, fetchJars, JAVA_VERSIONS, stubOptions } from "../../test/interop/dubbo/peers/java.ts";
import { MissingPeer } from "../../test/interop/peer.ts";
import { installDebianPackages, outputOf } from "../../test/interop/program.ts";
import { ROOT } from "../../test/support/documents.ts";
import { goVersion, installGoProgram } from "../../test/support/go.ts";

export interface Server {
  readonly version: string;
  readonly command: (port: number) => readonly string[];
  /** A line that the program prints when it serves, if that is later than it listens. */
  readonly ready?: string;
}

/** Builds a server. Throws a {@link MissingPeer} if a tool is missing. */
export type SetUp = () => Server;

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const ENTRIES = here("entries");
/** The proto files of the arenas for gRPC, of which all peers serve all services. */
export const PROTOS = {
  benchmark: join(ENTRIES, "httparena/triple-es/proto/benchmark.proto"),
  helloworld: join(ENTRIES, "grpc_bench/proto/helloworld/helloworld.proto"),
  api: join(ENTRIES, "dubbo-go-benchmark/3.0/triple/api/samples_api.proto"),
};
const protos = Object.values(PROTOS);

const GRPC_JAVA = "1.79.0";
const PROTOBUF_JAVA = "3.25.5";
const BUN = "1.4.5";

/** Returns our entry in a folder of `entries`. It uses the built packages of this repository in place of those of npm. */
export function ownEntry(folder: string, env: readonly string[] = []): SetUp {
  return () => {
    requireProgram("protoc", "--version");
    const plugin = join(ROOT, "dist/main.js");
    const built = buildOnce(`arena-${basename(folder)}`, [...filesIn(ENTRIES), plugin], (building) => {
      cpSync(ENTRIES, building, { recursive: true });
      const entry = join(building, folder);
      // As the Dockerfile for grpc_bench does.
      cpSync(join(ENTRIES, "grpc_bench/proto"), join(entry, "proto"), { recursive: true });
      symlinkSync(join(ROOT, "node_modules"), join(entry, "node_modules"));
      symlinkSync(plugin, join(building, "protoc-gen-triple-es"));
      step(entry, "env", [`PATH=${building}:${process.env["PATH"]}`, "npm", "run", "--silent", "generate"]);
    });
    const program = join(built, folder, "server.js");
    const command = (port: number) => ["env", `PORT=${port}`, ...env, process.execPath, program];
    return { version: versionOf("../../package.json"), command };
  };
}

export function setUpGrpcGo(): Server {
  const { folder, program } = goProgram("grpc-go", here("../scenarios/goodput-go"), "triple-es/bench/arena", true);
  return {
    version: requiredVersion(folder, "google.golang.org/grpc"),
    command: (port) => [program, "grpc", String(port)],
  };
}

/** Returns `net/http`, which serves the items of the dataset. */
export function netHttp(dataset: string): SetUp {
  return () => {
    const { program } = goProgram("grpc-go", here("../scenarios/goodput-go"), "triple-es/bench/arena", true);
    return { version: goVersion()?.slice(2) ?? "", command: (port) => [program, "http", String(port), dataset] };
  };
}

export function setUpDubboGo(): Server {
  const { folder, program } = dubboGo();
  return {
    version: requiredVersion(folder, "dubbo.apache.org/dubbo-go/v3"),
    command: (port) => [program, "server", String(port)],
  };
}

/** Builds the server and the stress client with dubbo-go, with its module of the interop tests. */
export function dubboGo(): { readonly folder: string; readonly program: string } {
  return goProgram("dubbo-go", here("../../test/interop/dubbo/peers/go"), "triple-es/interop/peer", false);
}

/** Builds a program of `peers` with the requirements of another module of this repository. */
function goProgram(name: string, requirements: string, module: string, grpc: boolean) {
  if (goVersion() === undefined) throw new MissingPeer("there is no go on the PATH");
  requireProgram("protoc", "--version");
  const plugins = [installGoProgram("google.golang.org/protobuf/cmd/protoc-gen-go", "v1.36.8")];
  if (grpc) plugins.push(installGoProgram("google.golang.org/grpc/cmd/protoc-gen-go-grpc", "v1.6.0"));
  const sources = [here(`peers/${name}/main.go`), ...["go.mod", "go.sum"].map((file) => join(requirements, file))];
  const folder = buildOnce(`arena-${name}`, [...sources, ...protos, import.meta.filename], (building) => {
    for (const source of sources) copyFileSync(source, join(building, basename(source)));
    step(building, "go", ["mod", "edit", `-module=${module}`]);
    const languages = grpc ? ["go", "go-grpc"] : ["go"];
    const options = languages.flatMap((language, index) => [
      `--plugin=protoc-gen-${language}=${plugins[index]}`,
      `--${language}_out=${building}`,
      `--${language}_opt=module=${module}`,
      ...Object.entries(PROTOS).map(([pkg, path]) => `--${language}_opt=M${basename(path)}=${module}/${pkg}`),
    ]);
    generate(building, options);
    fetchStep(building, "go", ["mod", "download"]);
    step(building, "go", ["build", "-o", "peer", "."]);
  });
  return { folder, program: join(folder, "peer") };
}

function requiredVersion(folder: string, module: string): string {
  return new RegExp(`${module} v(\\S+)`).exec(readFileSync(join(folder, "go.mod"), "utf8"))?.[1] ?? "";
}

export function setUpTonic(): Server {
  requireProgram("cargo", "--version");
  requireProgram("protoc", "--version");
  const sources = here("peers/tonic");
  const folder = buildOnce("arena-tonic", [...filesIn(sources), ...protos], (building) => {
    cpSync(sources, building, { recursive: true });
    mkdirSync(join(building, "proto"));
    for (const path of protos) copyFileSync(path, join(building, "proto", basename(path)));
    fetchStep(building, "cargo", ["fetch", "--locked"]);
    step(building, "cargo", ["build", "--release", "--locked", "--quiet"]);
  });
  const version = /name = "tonic"\nversion = "(.*)"/.exec(readFileSync(join(sources, "Cargo.lock"), "utf8"))?.[1];
  return { version: version ?? "", command: (port) => [join(folder, "target/release/arena"), String(port)] };
}

export function setUpCpp(): Server {
  installDebianPackages("libgrpc++-dev", "libprotobuf-dev", "protobuf-compiler-grpc");
  requireProgram("g++", "--version");
  const plugin = outputOf("which", "grpc_cpp_plugin");
  if (plugin === undefined)
    throw new MissingPeer("the Debian packages libgrpc++-dev and protobuf-compiler-grpc are missing");
  const source = here("peers/grpc-cpp/main.cc");
  const folder = buildOnce("arena-grpc-cpp", [source, ...protos], (building) => {
    generate(building, [`--cpp_out=${building}`, `--plugin=protoc-gen-grpc=${plugin}`, `--grpc_out=${building}`]);
    const generated = filesIn(building).filter((file) => file.endsWith(".cc"));
    const libraries = ["-Wl,--copy-dt-needed-entries", "-lgrpc++", "-lgrpc", "-lgpr", "-lprotobuf"];
    step(building, "g++", ["-std=c++17", "-O2", "-I.", "-o", "server", source, ...generated, ...libraries]);
  });
  const version = outputOf("dpkg-query", "--show", "libgrpc++-dev")?.split("\t")[1] ?? "";
  return { version, command: (port) => [join(folder, "server"), String(port)] };
}

export function setUpGrpcJava(): Server {
  const jars = ["grpc-netty-shaded", "grpc-protobuf", "grpc-stub"].map((name) => `io.grpc:${name}:${GRPC_JAVA}`);
  return { version: GRPC_JAVA, command: javaPeer("GrpcServer", jars, false) };
}

export function setUpDubboJava(): Server {
  const version = JAVA_VERSIONS[0].dubbo;
  const jars = [`org.apache.dubbo:dubbo:${version}`, `com.google.protobuf:protobuf-java-util:${PROTOBUF_JAVA}`];
  return { version, command: javaPeer("DubboServer", jars, true), ready: "ready" };
}

function javaPeer(main: string, artifacts: readonly string[], stubs: boolean): Server["command"] {
  checkJava();
  const source = here(`peers/java/${main}.java`);
  const folder = buildOnce(`arena-${main}`, [source, ...protos, import.meta.filename], (building) => {
    const jars = fetchJars(building, "jars", artifacts);
    const generated = join(building, "generated");
    mkdirSync(generated);
    generate(building, [
      `--java_out=${generated}`,
      ...(stubs ? stubOptions(building, generated, JAVA_VERSIONS[0].compiler) : []),
    ]);
    const options = ["-nowarn", "-parameters", "-d", join(building, "classes"), "-cp", `${jars}/*`];
    step(building, "javac", [...options, source, ...filesIn(generated)]);
  });
  // The memory of a container of grpc_bench.
  return (port) => [
    "java",
    "-Xmx512m",
    "-cp",
    `${join(folder, "classes")}:${join(folder, "jars", "*")}`,
    main,
    String(port),
  ];
}

export function setUpGrpcJs(): Server {
  return {
    version: versionOf(createRequire(import.meta.url).resolve("@grpc/grpc-js/package.json")),
    command: (port) => [process.execPath, here("peers/node/grpc-js.js"), String(port), ...protos],
  };
}

/** Returns `node:http`, which serves the items of the dataset. */
export function nodeHttp(dataset: string): SetUp {
  const command = (port: number) => [process.execPath, here("peers/node/items.js"), String(port), dataset];
  return () => ({ version: process.versions.node, command });
}

/** Returns `Bun.serve`, which serves the items of the dataset. */
export function bunServe(dataset: string): SetUp {
  return () => {
    const pkg = `@oven/bun-linux-${process.arch === "arm64" ? "aarch64" : "x64"}`;
    const folder = buildOnce(`arena-bun-${BUN}`, [], (building) => {
      fetchStep(building, "npm", ["install", "--silent", "--prefix", building, `${pkg}@${BUN}`]);
    });
    const program = join(folder, "node_modules", pkg, "bin/bun");
    return { version: BUN, command: (port) => [program, here("peers/node/items.js"), String(port), dataset] };
  };
}

/** Generates code for the protos of all arenas. */
function generate(cwd: string, options: readonly string[]): void {
  const imports = protos.map((path) => `-I${path.slice(0, -basename(path).length)}`);
  step(cwd, "protoc", [...imports, ...options, ...protos.map((path) => basename(path))]);
}

function requireProgram(program: string, ...args: string[]): void {
  if (outputOf(program, ...args) === undefined) throw new MissingPeer(`there is no ${program} on the PATH`);
}

function versionOf(manifest: string): string {
  return (JSON.parse(readFileSync(new URL(manifest, import.meta.url), "utf8")) as { version: string }).version;
}
