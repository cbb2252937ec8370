/** The parsers that the engine is compared with. Other programs answer inputs over a pipe. */
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { MissingPeer } from "../../interop/peer.ts";
import { outputOf } from "../../interop/program.ts";
import { CACHE, goVersion } from "../../support/go.ts";
import { parseWithLlhttp } from "./llhttp.ts";
import type { Input } from "./messages.ts";
import { startNginx } from "./nginx.ts";
import type { Verdict } from "./verdict.ts";

export interface Judge {
  readonly name: string;
  /** Returns the verdicts of inputs, in their order; `undefined` for a role that it does not know. */
  ask(inputs: readonly Input[]): Promise<readonly (Verdict | undefined)[]>;
  stop(): void;
}

const HERE = import.meta.dirname;
const FOLDER = join(CACHE, "differential", "http1");
const H11 = "0.16.0";

/** The judges by their name. Each throws {@link MissingPeer} if it cannot run. */
export const JUDGES: Readonly<Record<string, () => Judge | Promise<Judge>>> = {
  llhttp: () => ({
    name: `llhttp ${process.versions["llhttp"]}`,
    ask: async (inputs) => inputs.map(parseWithLlhttp),
    stop() {},
  }),
  go: startGo,
  h11: startH11,
  hyper: startHyper,
  nginx: startNginx,
};

/** Starts a judge by its name, or llhttp of another Node by the path of its program. */
export function startJudge(name: string): Judge | Promise<Judge> {
  const known = JUDGES[name];
  if (known !== undefined) return known();
  return startNode(name);
}

function startNode(path: string): Judge {
  const version = outputOf(path, "-p", "process.versions.llhttp");
  if (version === undefined) throw new MissingPeer(`${path} does not run`);
  return start(`llhttp ${version}`, [path, join(HERE, "llhttp.ts")]);
}

function startGo(): Judge {
  const version = goVersion();
  if (version === undefined) throw new MissingPeer("there is no Go");
  mkdirSync(FOLDER, { recursive: true });
  const program = join(FOLDER, "judge-go");
  // Go has a cache of its own for what has not changed.
  if (outputOf("go", "build", "-o", program, join(HERE, "judge.go")) === undefined)
    throw new MissingPeer("go build failed");
  return start(`net/http ${version}`, [program]);
}

function startH11(): Judge {
  const packages = join(FOLDER, `h11-${H11}`);
  if (!existsSync(join(packages, "h11"))) {
    const pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", packages, `h11==${H11}`];
    if (outputOf("python3", ...pip) === undefined) throw new MissingPeer(`pip cannot install h11 ${H11}`);
  }
  return start(`h11 ${H11}`, ["python3", join(HERE, "judge.py")], { PYTHONPATH: packages });
}

function startHyper(): Judge {
  const source = join(HERE, "hyper");
  const target = join(FOLDER, "hyper");
  // Cargo writes its lock file beside the manifest.
  cpSync(source, target, { recursive: true });
  const build = [
    "build",
    "--quiet",
    "--release",
    "--manifest-path",
    join(target, "Cargo.toml"),
    "--target-dir",
    target,
  ];
  if (outputOf("cargo", ...build) === undefined) throw new MissingPeer("cargo build failed, or there is no Rust");
  return start("hyper 1.7.0", [join(target, "release", "judge")], {}, ["request"]);
}

function start(
  name: string,
  [program = "", ...args]: readonly string[],
  env: NodeJS.ProcessEnv = {},
  roles = ["request", "response"],
): Judge {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ...env } });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const read = async (): Promise<Verdict> => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`${name} has ended`);
    return JSON.parse(value) as Verdict;
  };
  return {
    name,
    async ask(inputs) {
      const known = inputs.filter(({ role }) => roles.includes(role));
      child.stdin.write(Buffer.concat(known.map(encode)));
      const verdicts: (Verdict | undefined)[] = [];
      for (const { role } of inputs) verdicts.push(roles.includes(role) ? await read() : undefined);
      return verdicts;
    },
    stop: () => child.kill("SIGKILL"),
  };
}

function encode({ role, isHead, text }: Input): Buffer {
  const bytes = Buffer.from(text, "latin1");
  const head = Buffer.from(`${role === "request" ? "Q" : isHead ? "H" : "R"}....`);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}
