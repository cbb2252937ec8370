/**
 * `npm run bench:contract`: the same API, two methods with validation, by a contract and by its peers: lines of code, the
 * answers of an editor at a call, bytes in a page, and CPU time of a call, client and server in this process.
 *
 * `npm ci` in the root does not install the peers, so that the type checker and knip cannot resolve the imports of `entrants`:
 * this program checks their types.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { build } from "esbuild";
import { lookUp } from "./definition.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const ENTRANTS = here("./entrants");

/** Text before the name of the method that `get` calls, by entrant. */
const CALLS = { triple: "books.", trpc: "books.", hono: "books", orpc: "books." } as const;
type Name = keyof typeof CALLS;
const names = Object.keys(CALLS) as Name[];

interface Client {
  get(id: string): Promise<{ title: string }>;
  add(book: object): Promise<{ id: string }>;
}

prepare();
for (const name of names) {
  const call = name === "hono" ? '[":id"].$' : CALLS[name];
  const { hover, definition } = lookUp(ENTRANTS, name, call);
  console.log(`${name}: ${countLines(name)} lines, ${await pageBytes(name)} bytes, definition ${definition}, hover:`);
  console.log(hover);
}
await compareCosts(Number(process.argv[2] ?? 31), 1_000);
process.exit();

/** Installs the peers when they are first needed, and generates the code of the contract. */
function prepare(): void {
  const commands = [
    [process.execPath, here("../../dist/triple-es.js"), "contract", "triple/api.ts", "--out", "triple/gen"],
  ];
  commands[0]?.push("--import-extension", "ts");
  if (!existsSync(`${ENTRANTS}/node_modules`)) {
    commands.push(["npm", "ci", "--ignore-scripts", "--workspaces=false", "--silent"]);
  }
  for (const [command = "", ...args] of commands) {
    const { status } = spawnSync(command, args, { cwd: ENTRANTS, stdio: ["ignore", 2, 2] });
    if (status !== 0) throw new Error(`${args.join(" ")} has failed`);
  }
}

/** Counts the lines of an entrant that somebody writes, without blank ones. */
function countLines(name: Name): number {
  return readdirSync(`${ENTRANTS}/${name}`)
    .filter((file) => file.endsWith(".ts"))
    .flatMap((file) => readFileSync(`${ENTRANTS}/${name}/${file}`, "utf8").split("\n"))
    .filter((line) => line.trim() !== "").length;
}

/** Returns the size of a client with both methods, minified and compressed. */
async function pageBytes(name: Name): Promise<number> {
  const { outputFiles } = await build({
    stdin: {
      contents: `import { add, get } from "./client.ts"; get("1").then(console.log); add({ id: "1", title: "A", pages: 1 });`,
      resolveDir: `${ENTRANTS}/${name}`,
      loader: "ts",
    },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    write: false,
  });
  return brotliCompressSync(outputFiles[0]?.contents ?? new Uint8Array()).byteLength;
}

/** Calls all entrants in turn, and prints the CPU time of a call and its ratio to that of the contract in the same round. */
async function compareCosts(rounds: number, calls: number): Promise<void> {
  const clients = new Map<Name, Client>();
  for (const name of names) {
    await import(`./entrants/${name}/server.ts`);
    clients.set(name, (await import(`./entrants/${name}/client.ts`)) as Client);
  }
  const costs = new Map(names.map((name) => [name, [] as number[]]));
  for (let round = -3; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const cost = await costOf(clients.get(name) as Client, calls);
      if (round >= 0) costs.get(name)?.push(cost);
    }
  }
  const ours = costs.get("triple") ?? [];
  for (const [name, theirs] of costs) {
    const ratios = theirs.map((cost, round) => cost / (ours[round] ?? Number.NaN));
    const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => quantile(ratios, part).toFixed(2));
    console.log(`${name}: ${quantile(theirs, 0.5).toFixed(0)} µs a call; ${middle} times triple (${low} to ${high})`);
  }
}

/** Returns the CPU time of a call in microseconds, with 16 calls at a time, half of them with a body that is validated. */
async function costOf(client: Client, calls: number): Promise<number> {
  const before = process.cpuUsage();
  let left = calls / 2;
  const loop = async (): Promise<void> => {
    while (left-- > 0) {
      const { id } = await client.add({ id: `book-${left}`, title: "The Left Hand of Darkness", pages: 304 });
      const { title } = await client.get(id);
      if (title !== "The Left Hand of Darkness") throw new Error(`another title: ${title}`);
    }
  };
  await Promise.all(Array.from({ length: 16 }, loop));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(part * (sorted.length - 1))] ?? Number.NaN;
}
