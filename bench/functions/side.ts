/** One side of the measured calls, in a process of its own, so that functions that both sides share are counted for each. */
import { createServer, createTransport } from "triple-es/node";
import { answerParent } from "../child.ts";
import { echoRequest } from "../messages/echo.ts";
import { echoService } from "../messages/echo-service.ts";
import { createEchoServiceClient, type EchoServiceClient, EchoServiceDef } from "../messages/gen/echo_triple.ts";
import { startCoverage, takeCoverage } from "./coverage.ts";

let client: EchoServiceClient;

answerParent({
  async serve() {
    const server = await createServer().add(EchoServiceDef, echoService).listen({ port: 0, host: "127.0.0.1" });
    return server.address.port;
  },
  connect(port: number) {
    client = createEchoServiceClient(createTransport({ baseUrl: `http://127.0.0.1:${port}` }));
  },
  async call(times: number) {
    for (let i = 0; i < times; i++) await client.echo(echoRequest);
  },
  startCoverage,
  takeCoverage,
});
