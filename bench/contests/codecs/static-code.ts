/** Static code of protobufjs for the messages of the contests, written next to its modules. */
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const PEERS = "../../generate/peers/node_modules";

export interface StaticMessage {
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
}

interface StaticCode {
  readonly bench: {
    readonly v1: { readonly [Name in "EchoRequest" | "Order" | "Words" | "Numbers" | "Blobs"]: StaticMessage };
  };
}

export function loadStaticCode(): StaticCode {
  const out = here(`${PEERS}/.echo-${process.pid}.cjs`);
  const args = ["--target", "static-module", "--wrap", "commonjs", "--no-verify", "--no-delimited", "--out", out];
  const files = ["echo", "samples"].map((name) => here(`../../messages/proto/${name}.proto`));
  const command = here(`${PEERS}/protobufjs-cli/bin/pbjs`);
  const { status, stderr } = spawnSync(process.execPath, [command, ...args, ...files], { encoding: "utf8" });
  if (status !== 0) throw new Error(`pbjs failed: ${stderr}`);
  return createRequire(import.meta.url)(out) as StaticCode;
}
