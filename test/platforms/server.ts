/** Serves the callee with the server of the platform, and prints the port. Ends when its input ends. */
import process, { stdin } from "node:process";
import { createRouter } from "triple-es";
import { fetchHandler } from "triple-es/fetch";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { createCallee } from "./callee.ts";

interface Listening {
  readonly port: number;
}
/** The parts of the two platforms that are used here. */
interface Platforms {
  readonly Bun?: {
    serve(options: { port: number; hostname: string; fetch: (request: Request) => Promise<Response> }): Listening;
  };
  readonly Deno?: {
    serve(
      options: { port: number; hostname: string; onListen: (address: Listening) => void },
      handler: (request: Request) => Promise<Response>,
    ): unknown;
  };
}

const { Bun, Deno } = globalThis as Platforms;
const router = createRouter({ maxMessageBytes: 100_000, cors: { origins: ["https://friend.example"] } });
router.add(GreetServiceDef, createCallee(), { bodies: ["multipart", "form", "text", "xml"] });
const handle = fetchHandler(router, { prefix: "/rpc" });
const address = { port: 0, hostname: "127.0.0.1" };
const print = ({ port }: Listening): void => console.log(port);

if (Bun !== undefined) print(Bun.serve({ ...address, fetch: handle }));
else if (Deno !== undefined) Deno.serve({ ...address, onListen: print }, handle);
else throw new Error("neither Bun nor Deno");

stdin.on("end", () => process.exit()).resume();
