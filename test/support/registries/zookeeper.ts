/** A ZooKeeper for tests, of one server on loopback. Its sessions last from 200 ms on. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { freePort } from "../port.ts";
import { installRegistry, REGISTRIES, type RegistryProcess, startRegistry } from "./process.ts";

const hasJava = spawnSync("java", ["-version"], { stdio: "ignore" }).status === 0;

/** Reports whether ZooKeeper can run here. Tests that need it are skipped where it cannot. */
export const hasZooKeeper: boolean = hasJava && installRegistry("zookeeper");

const JVM = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"];

/** Starts a ZooKeeper. With `tls`, the path of a PEM file with a key and its certificate, it accepts TLS alone. */
export async function startZooKeeper(tls?: string): Promise<RegistryProcess> {
  const port = await freePort();
  const clients =
    tls === undefined
      ? { clientPort: port, clientPortAddress: "127.0.0.1" }
      : { secureClientPort: port, secureClientPortAddress: "127.0.0.1" };
  const secure =
    tls === undefined
      ? []
      : [
          "-Dzookeeper.serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
          `-Dzookeeper.ssl.keyStore.location=${tls}`,
          "-Dzookeeper.ssl.keyStore.type=PEM",
          "-Dzookeeper.ssl.clientAuth=none",
        ];
  return startRegistry({
    name: "zookeeper",
    port,
    command(folder) {
      const config = join(folder, "zoo.cfg");
      const lines = {
        tickTime: 100,
        minSessionTimeout: 200,
        maxSessionTimeout: 40_000,
        dataDir: folder,
        ...clients,
        "admin.enableServer": false,
        maxClientCnxns: 0,
        forceSync: "no",
        "4lw.commands.whitelist": "ruok,dump",
      };
      writeFileSync(
        config,
        Object.entries(lines)
          .map(([name, value]) => `${name}=${value}\n`)
          .join(""),
      );
      const jars = `${REGISTRIES}/zookeeper-3.9.3/*`;
      return ["java", ...JVM, ...secure, "-cp", jars, "org.apache.zookeeper.server.quorum.QuorumPeerMain", config];
    },
    // Over TLS, the commands of four letters are not sent: a connection is enough.
    isReady: async () => (tls === undefined ? (await ask(port, "dump")).includes("Session") : isListening(port)),
  });
}

/** Sends a command of four letters. Returns the answer, or nothing if there is none. */
export function ask(port: number, command: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(command));
    socket.on("data", (data) => {
      answer += data;
    });
    // A server that is starting may accept a connection and never answer.
    socket.setTimeout(1_000, () => socket.destroy());
    socket.on("error", () => resolve(answer)).on("close", () => resolve(answer));
  });
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
