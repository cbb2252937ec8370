/**
 * grpcio, the C core: a service and the cases in Python, with Debian's packages. Its server does not expose whether a
 * request was compressed. Its client does not expose whether a response was, and cannot send one uncompressed message of a
 * compressed stream.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CACHE } from "../../../support/go.ts";
import { MissingPeer } from "../../peer.ts";
import { CaseProgram, installDebianPackages, outputOf, startProgram } from "../../program.ts";
import { caseNames, partialCases } from "../cases.ts";
import type { PeerSetup } from "../peer.ts";

/** Debian's Python, even if another one is on the PATH, because its packages are available only there. */
const PYTHON = "/usr/bin/python3";

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/**
 * The common imports of both programs: the messages, by method. The package grpc of the protos would hide that of grpcio.
 */
const MESSAGES = `
import importlib.util, os, sys
def load(name):
    path = os.path.join(os.path.dirname(__file__), "grpc", "testing", name + "_pb2.py")
    spec = importlib.util.spec_from_file_location("grpc.testing." + name + "_pb2", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
Empty = load("empty").Empty
pb = load("messages")
methods = {
    "EmptyCall": (Empty, Empty),
    "UnaryCall": (pb.SimpleRequest, pb.SimpleResponse),
    "StreamingOutputCall": (pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse),
    "StreamingInputCall": (pb.StreamingInputCallRequest, pb.StreamingInputCallResponse),
    "FullDuplexCall": (pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse),
    "UnimplementedCall": (Empty, Empty),
}
`;

export const setUpPython: PeerSetup = async (credentials) => {
  installDebianPackages("python3-grpcio", "python3-protobuf", "protobuf-compiler");
  const version = outputOf(PYTHON, "-c", "import grpc, google.protobuf; print(grpc.__version__)");
  if (version === undefined) throw new MissingPeer(`${PYTHON} has no grpcio (python3-grpcio, python3-protobuf)`);
  const messages = join(CACHE, "python");
  mkdirSync(messages, { recursive: true });
  const protos = here("../proto");
  const files = ["grpc/testing/empty.proto", "grpc/testing/messages.proto"];
  if (outputOf("protoc", `-I${protos}`, `--python_out=${messages}`, ...files) === undefined) {
    throw new MissingPeer("there is no protoc on the PATH (protobuf-compiler)");
  }
  writeFileSync(join(messages, "grpc_testing_messages.py"), MESSAGES);
  const client = new CaseProgram([PYTHON, "-B", here("cases.py"), messages]);
  return {
    name: "grpcio (Python)",
    version,
    credentials,
    clientCases: caseNames,
    partialCases,
    serverCases: caseNames.filter((name) => !name.startsWith("client_compressed")),
    runCase: (name, target) => {
      const tls = target.credentials && [target.credentials.files.ca, target.credentials.servername];
      return client.run(name, `${target.port}`, ...(tls ?? []));
    },
    startServer: (own) =>
      startProgram((port) => {
        const tls = own && [own.files.cert, own.files.key];
        return [PYTHON, "-B", here("service.py"), messages, `${port}`, ...(tls ?? [])];
      }),
    start: client.start,
    stop: client.stop,
  };
};
