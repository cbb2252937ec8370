/** Keeps the demo's server running, for those who want to try by themselves. */
import { createServer } from "triple-es/node";
import { GreetServiceDef } from "../gen/greet/v1/greet_triple.ts";
import { readCurlLine } from "./curl.ts";
import { title } from "./paint.ts";
import { greetService } from "./service.ts";

/** Serves until the process is told to stop. */
export async function serve(port: number): Promise<void> {
  const server = await createServer().add(GreetServiceDef, greetService).listen({ port, host: "127.0.0.1" });
  const address = `localhost:${server.address.port}`;
  console.log(title(`\nGreetService listens on ${address}. Stop it with Ctrl-C.\n`));
  for (const line of await linesToTry(address)) console.log(`${line}\n`);
  const stop = (): void => {
    server.close({ graceMs: 1_000 }).then(() => console.log("stopped"));
  };
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
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
