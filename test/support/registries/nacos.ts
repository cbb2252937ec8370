/** A Nacos for tests, of one server on loopback. It takes about ten seconds to start. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { join } from "node:path";
import type { Certificates } from "../certificate.ts";
import { freePort } from "../port.ts";
import { installRegistry, REGISTRIES, type RegistryProcess, type RegistryProgram, startRegistry } from "./process.ts";

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
  api(path: string, init?: { readonly method?: string; readonly body?: URLSearchParams }): Promise<string>;
}

export interface NacosOptions {
  /** True if it asks for user and password: the user `nacos` has the password `nacos`. */
  readonly secured?: boolean;
  /**
   * The certificates with which it uses TLS on both of its ports. Clients of gRPC need a certificate of the same
   * authority.
   */
  readonly certificates?: Certificates;
}

export async function startNacos({ secured = false, certificates }: NacosOptions = {}): Promise<NacosProcess> {
  const port = await freePort();
  const url = `${certificates === undefined ? "http" : "https"}://127.0.0.1:${port}/nacos`;
  const api: NacosProcess["api"] = (path, { method = "GET", body } = {}) =>
    new Promise((resolve, reject) => {
      const headers = body === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" };
      const send = certificates === undefined ? requestHttp : requestHttps;
      const request = send(url + path, { method, headers, ca: certificates?.ca, agent: false }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("end", () => resolve(text)).on("error", reject);
      });
      request.on("error", reject).end(body?.toString());
    });
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
        // Nacos gives its new database four seconds to open, which a busy machine exceeds, and Derby waits 112 times for the
        // disk without this.
        "db.pool.config.connectionTimeout": 60_000,
        "derby.system.durability": "test",
        ...auth,
        ...(certificates && tlsProperties(folder, certificates)),
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
      api("/v1/console/health/readiness").then(
        (text) => text === "OK",
        () => false,
      ),
  };
  const registry = await startRegistry(program);
  // The server reads its users some seconds after it is ready.
  const body = new URLSearchParams({ username: "nacos", password: "nacos" });
  const login = { method: "POST", body };
  while (secured && !(await api("/v1/auth/login", login)).includes("accessToken")) {
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return Object.assign(registry, { api });
}

/** The properties for TLS on both ports: that of HTTP is Spring's, that of gRPC accepts no connection without TLS. */
function tlsProperties(folder: string, { ca, server }: Certificates): Record<string, string | boolean> {
  const write = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    // Without a scheme, Nacos looks for the file among its classes.
    return `file:${path}`;
  };
  const certificate = write("server.crt", server.cert);
  const key = write("server.key", server.key);
  return {
    "server.ssl.enabled": true,
    "server.ssl.certificate": certificate,
    "server.ssl.certificate-private-key": key,
    "nacos.remote.server.rpc.tls.enableTls": true,
    "nacos.remote.server.rpc.tls.compatibility": false,
    "nacos.remote.server.rpc.tls.certChainFile": certificate,
    "nacos.remote.server.rpc.tls.certPrivateKey": key,
    "nacos.remote.server.rpc.tls.mutualAuthEnable": true,
    "nacos.remote.server.rpc.tls.trustCollectionCertFile": write("ca.crt", ca),
  };
}
