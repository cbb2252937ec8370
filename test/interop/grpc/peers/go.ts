/** grpc-go with its own interop programs, which have no compression cases. */
import { goVersion, installGoProgram } from "../../../support/go.ts";
import { MissingPeer } from "../../peer.ts";
import { runProgram, startProgram } from "../../program.ts";
import { uncompressedCases } from "../cases.ts";
import type { PeerSetup } from "../peer.ts";
import { buildHealthProgram, runHealth } from "./health.ts";
import { runLoad } from "./load.ts";

const VERSION = "v1.83.1";

export const setUpGo: PeerSetup = async (credentials) => {
  if (goVersion() === undefined) throw new MissingPeer("there is no go on the PATH");
  const client = installGoProgram("google.golang.org/grpc/interop/client", VERSION);
  const server = installGoProgram("google.golang.org/grpc/interop/server", VERSION);
  const health = buildHealthProgram();
  const supported = uncompressedCases.filter((name) => name !== "very_large_request");
  return {
    name: "grpc-go",
    version: VERSION,
    credentials,
    clientCases: supported,
    serverCases: supported,
    scenarios: { health: () => runHealth(health), load: () => runLoad(health) },
    runCase: (name, target) => {
      const at = ["-server_host=127.0.0.1", `-server_port=${target.port}`, `-test_case=${name}`];
      const tls = target.credentials && [
        "-use_tls",
        "-use_test_ca",
        `-ca_file=${target.credentials.files.ca}`,
        `-server_host_override=${target.credentials.servername}`,
      ];
      return runProgram([client, ...at, ...(tls ?? [])]);
    },
    startServer: (own) =>
      startProgram((port) => {
        const tls = own && ["-use_tls", `-tls_cert_file=${own.files.cert}`, `-tls_key_file=${own.files.key}`];
        return [server, `-port=${port}`, ...(tls ?? [])];
      }),
  };
};
