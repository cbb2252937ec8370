/** The arguments of `triple-es migrate`. */
import { parseArgs } from "node:util";
import { ArgumentsError } from "../contract/arguments.ts";
import { suggestion } from "../print/did-you-mean.ts";

const KINDS = ["connect-es", "grpc-js", "nice-grpc"] as const;

export interface MigrateArguments {
  readonly kind: (typeof KINDS)[number];
  /** The files to change. Empty: all of the project. */
  readonly files: readonly string[];
  readonly project: string | undefined;
  readonly dryRun: boolean;
  readonly force: boolean;
}

export const MIGRATE_HELP = `triple-es migrate: rewrites a project that uses another library of gRPC.

  triple-es migrate connect-es | grpc-js | nice-grpc [FILES]

Rewrites imports, clients, handlers, interceptors and errors in the files of a tsconfig, or in FILES of it, and package.json
and buf.gen.yaml. Needs installed packages and generated code, whose types it reads. Lists each place that it leaves, with
file and line; places that compile and behave differently get a comment TODO(triple-es). The exit status is 1 if a place
is left, 0 otherwise. Afterwards, install packages, generate code and format the files.

Flags:
  --project tsconfig.json   the project; default tsconfig.json
  --dry-run                 write nothing
  --force                   write also if the work tree has uncommitted changes
  --help                    print this text
`;

/** Parses arguments. Returns `help` if they ask for help. Throws an `ArgumentsError` for invalid ones. */
export function readMigrateArguments(args: readonly string[]): MigrateArguments | "help" {
  const options = {
    project: { type: "string" },
    "dry-run": { type: "boolean" },
    force: { type: "boolean" },
    help: { type: "boolean", short: "h" },
  } as const;
  const { values, positionals } = parse(() => parseArgs({ args: [...args], options, allowPositionals: true }));
  if (values.help) return "help";
  const [name = "", ...files] = positionals;
  const kind = KINDS.find((one) => one === name);
  if (kind === undefined)
    throw new ArgumentsError(
      `migrate needs connect-es, grpc-js or nice-grpc${name && `, not ${name}${suggestion(name, KINDS)}`}`,
    );
  return { kind, files, project: values.project, dryRun: values["dry-run"] ?? false, force: values.force ?? false };
}

function parse<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new ArgumentsError((error as Error).message);
  }
}
