/** dubbo-go, from the module proxy, with the program in `go/` and messages of protoc-gen-go. */
import { copyFileSync } from "node:fs";
import { basename, join } from "node:path";
import { goVersion, installGoProgram } from "../../../support/go.ts";
import { type Credentials, MissingPeer, type Target } from "../../peer.ts";
import { outputOf, runProgram, startProgram } from "../../program.ts";
import { buildOnce, fetchStep, filesIn, PEER_PROTO, PEERS, PROTOS, step } from "../build.ts";
import { type DubboPeer, readOutcomes } from "../peer.ts";

const VERSION = "v3.3.2";
const PROTOC_GEN_GO = "v1.36.8";

/** Builds the program, and creates a peer. Throws a {@link MissingPeer} if that is not possible. */
export function setUpGo(): DubboPeer {
  const program = goProgram();
  const at = ({ files }: Credentials): string[] => [files.cert, files.key];
  const runClient = async (services: "client" | "plain" | "generic", { port, credentials }: Target) => {
    const tls = credentials === undefined ? [] : [credentials.files.ca, credentials.servername];
    return readOutcomes(await runProgram([program, services, String(port), ...tls]));
  };
  return {
    name: "dubbo-go",
    version: VERSION.slice(1),
    alpn: true,
    javaNames: false,
    httpRpc: true,
    plainHttpRpc: false,
    runHttpClient: async (port) => readOutcomes(await runProgram([program, "http", String(port)])),
    startServer: (own) => startProgram((port) => [program, "server", String(port), ...(own ? at(own) : [])]),
    runClient: (target) => runClient("client", target),
    runPlainClient: (target) => runClient("plain", target),
    runGenericClient: (target) => runClient("generic", target),
    // An object that contains itself: it is converted until the stack or the memory is full.
    fatalCases: ["cycles"],
  };
}

/** Returns the program. Builds it first, if needed. */
export function goProgram(): string {
  if (goVersion() === undefined) throw new MissingPeer("there is no go on the PATH");
  if (outputOf("protoc", "--version") === undefined) throw new MissingPeer("there is no protoc on the PATH");
  const plugin = installGoProgram("google.golang.org/protobuf/cmd/protoc-gen-go", PROTOC_GEN_GO);
  const sources = filesIn(join(PEERS, "go"));
  const folder = buildOnce(`dubbo-go-${VERSION}`, [...sources, PEER_PROTO, import.meta.filename], (building) => {
    for (const source of sources) copyFileSync(source, join(building, basename(source)));
    const generate = [`--plugin=protoc-gen-go=${plugin}`, "--go_out=.", "--go_opt=module=triple-es/interop/peer"];
    step(building, "protoc", ["-I", PROTOS, ...generate, "interop/v1/peer.proto"]);
    fetchStep(building, "go", ["mod", "download"]);
    step(building, "go", ["build", "-o", "peer", "."]);
  });
  return join(folder, "peer");
}
