/** The process that sends the load. It is started before all servers, so that it is equally warm for every server. */
import { answerParent } from "../../child.ts";
import { openHttp1 } from "./http1.ts";
import { openHttp2 } from "./http2.ts";
import { type Connection, type Load, Score, type Tally } from "./load.ts";

let connections: readonly Connection[] = [];
let method: Load["method"] = "echo";

answerParent({
  async open({ port, load }: { port: number; load: Load }): Promise<void> {
    method = load.method;
    const open = load.protocol === "grpc" || load.http === "2" ? openHttp2 : openHttp1;
    connections = await Promise.all(Array.from({ length: load.connections }, () => open(port, load)));
  },

  async run(seconds: number): Promise<Tally> {
    const score = new Score(method);
    const until = score.startedAt + seconds * 1000;
    await Promise.all(connections.map((connection) => connection.run(until, score)));
    return score.tally();
  },

  close(): void {
    for (const connection of connections) connection.close();
    connections = [];
  },
});
