/** A Nacos for tests, of one server on loopback. It takes about ten seconds to start. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  installRegistry,
  lowPort,
  REGISTRIES,
  type RegistryProcess,
  type RegistryProgram,
  startRegistry,
} from "./process.ts";

const hasJava = spawnSync("java", ["-version"], { stdio: "ignore" }).status === 0;

/** Reports whether Nacos can run here. Tests that need it are skipped where it cannot. */
export const hasNacos: boolean = hasJava && installRegistry("nacos");

const JVM = ["-Xms256m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"];

const LOGBACK = `<configuration><appender name="out" class="ch.qos.logback.core.ConsoleAppender"><encoder>
<pattern>%d{HH:mm:ss.SSS} %level %logger{20} %msg%n%ex{12}</pattern></encoder></appender>
<root level="WARN"><appender-ref ref="out"/></root></configuration>
`;

export interface NacosProcess extends RegistryProcess {
  /** Calls the API of the console, such as `/v1/ns/instance/list?serviceName=shop`. */
  api(path: string, init?: RequestInit): Promise<string>;
}

/** Starts a Nacos, which asks for user and password if `secured`: the user `nacos` has the password `nacos`. */
export async function startNacos(secured = false): Promise<NacosProcess> {
  const port = await lowPort();
  const url = `http://127.0.0.1:${port}/nacos`;
  const jars = join(REGISTRIES, "nacos-2.3.2");
  const auth = secured
    ? {
        "nacos.core.auth.enabled": true,
        "nacos.core.auth.system.type": "nacos",
        "nacos.core.auth.server.identity.key": "test",
        "nacos.core.auth.server.identity.value": "test",
        "nacos.core.auth.plugin.nacos.token.secret.key": btoa("a secret for tests, of 32 bytes or more"),
      }
    : {};
  const program: RegistryProgram = {
    name: "nacos",
    port,
    command(folder) {
      const logback = join(folder, "logback.xml");
      writeFileSync(logback, LOGBACK);
      const properties = {
        "user.home": folder,
        "nacos.home": folder,
        "nacos.standalone": true,
        "nacos.inetutils.ip-address": "127.0.0.1",
        ...auth,
      };
      return [
        "java",
        ...JVM,
        ...Object.entries(properties).map(([name, value]) => `-D${name}=${value}`),
        // Two of the jars have classes of one name: those of Caucho must come first, but the other jar has some of its own.
        ...["-cp", `${jars}/hessian-4.0.63.jar:${jars}/*`, "com.alibaba.nacos.Nacos"],
        `--logging.config=file:${logback}`,
        "--server.address=127.0.0.1",
        `--server.port=${port}`,
        "--server.tomcat.accesslog.enabled=false",
      ];
    },
    isReady: () =>
      fetch(`${url}/v1/console/health/readiness`).then(
        ({ ok }) => ok,
        () => false,
      ),
  };
  // On a busy machine its database may not open in the time that Nacos allows for it.
  const registry = await startRegistry(program).catch(() => startRegistry(program));
  const api = async (path: string, init?: RequestInit): Promise<string> => (await fetch(url + path, init)).text();
  // The server reads its users some seconds after it is ready.
  const body = new URLSearchParams({ username: "nacos", password: "nacos" });
  const login = { method: "POST", body };
  while (secured && !(await api("/v1/auth/login", login)).includes("accessToken")) {
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return Object.assign(registry, { api });
}
