/** Keeps the demo's server running, for manual calls. */
import { createServer } from "triple-es/node";
import { GreetServiceDef } from "../gen/greet/v1/greet_triple.ts";
import { readCurlLine } from "./curl.ts";
import { title } from "./paint.ts";
import { greetService } from "./service.ts";

/** Serves until the process receives a signal to stop. */
export async function serve(port: number): Promise<void> {
  // The listeners are added before anything is awaited or printed, because the parent may stop the program at once.
  const parent = process.ppid;
  const server = createServer().add(GreetServiceDef, greetService);
  await server.listen({ port, host: "127.0.0.1" }).catch((error) => {
    throw error.code === "EADDRINUSE" ? new Error(`port ${port} is taken; --port chooses another`) : error;
  });
  const address = `localhost:${server.address.port}`;
  console.log(title(`\nGreetService listens on ${address}. Stop it with Ctrl-C.\n`));
  for (const line of await linesToTry(address)) console.log(`${line}\n`);
  let watch: NodeJS.Timeout | undefined;
  const stop = (): void => {
    clearInterval(watch);
    server.close({ graceMs: 1_000 }).then(() => console.log("stopped"));
  };
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  // npm runs a script in a shell, which ends on SIGTERM without forwarding it.
  if (process.env["npm_lifecycle_event"] !== undefined) {
    watch = setInterval(() => process.ppid !== parent && stop(), 200);
  }
}

async function linesToTry(address: string): Promise<string[]> {
  const base = `http://${address}/greet.v1.GreetService`;
  const bufCurl = "npx buf curl --schema proto --protocol grpc --http2-prior-knowledge";
  return [
    await readCurlLine(address),
    `curl -i -H 'content-type: application/json' -d '[{"name":""}]' ${address}/greet.v1.GreetService/Greet`,
    `curl -i --http2-prior-knowledge -H 'content-type: application/json' -d '{"name":"Dubbo"}' ${base}/Greet`,
    `${bufCurl} -d '{"name":"Dubbo"}' ${base}/Greet`,
    `${bufCurl} -d '{"names":["Ann","Bob"]}' ${base}/GreetEach`,
    `${bufCurl} -d '{"name":"Ann"}{"name":"Bob"}' ${base}/GreetOnArrival`,
  ];
}
