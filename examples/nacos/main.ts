/**
 * Three providers and a consumer that meet in Nacos. All providers are replaced one by one while the consumer calls them
 * (rolling restart), and no call is lost.
 *
 *     npx tsx --conditions=triple-source examples/nacos/main.ts [NACOS]
 *
 * NACOS is the host and HTTP port of a Nacos 2 or 3, by default 127.0.0.1:8848.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [address = "127.0.0.1:8848"] = process.argv.slice(2);

interface Program {
  readonly child: ChildProcess;
  /** Resolves with the first line that begins with a text. */
  line(start: string): Promise<string>;
}

/** Starts a program of this folder. Its lines are printed with its name. */
function start(name: string, file: string): Program {
  const command = [...process.execArgv, join(import.meta.dirname, file), address];
  const child = spawn(process.execPath, command, { stdio: ["ignore", "pipe", "inherit"] });
  process.once("exit", () => child.kill("SIGKILL"));
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => {
    console.log(`${name}: ${line}`);
    lines.push(line);
  });
  return {
    child,
    async line(start) {
      for (;;) {
        const found = lines.find((line) => line.startsWith(start));
        if (found !== undefined) return found;
        const [line] = await Promise.race([once(reader, "line"), once(reader, "close").then(() => [])]);
        if (line === undefined) throw new Error(`${name} has ended`);
      }
    },
  };
}

async function startProvider(name: string): Promise<Program> {
  const provider = start(name, "provider.ts");
  await provider.line("registered");
  return provider;
}

async function end({ child }: Program): Promise<void> {
  child.kill("SIGTERM");
  await once(child, "exit");
}

const names = ["provider 1", "provider 2", "provider 3"];
const providers = await Promise.all(names.map(startProvider));
const consumer = start("consumer", "consumer.ts");
await consumer.line("3 providers");

for (const [index, name] of names.entries()) {
  const replacement = await startProvider(`new ${name}`);
  const old = providers.splice(index, 1, replacement)[0];
  if (old !== undefined) await end(old);
}
console.log("all providers are replaced");

consumer.child.kill("SIGTERM");
const [status] = await once(consumer.child, "close");
await Promise.all(providers.map(end));
process.exitCode = status;
