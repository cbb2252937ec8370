/**
 * An API server of Kubernetes for tests on demand, over an etcd. It has no nodes and no controllers: a test writes its own
 * EndpointSlices. The environment variable KUBE_APISERVER is the path of the program, which takes ten minutes to build.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../port.ts";
import { hasEtcd, startEtcd } from "./etcd.ts";
import { startRegistry } from "./process.ts";

const PROGRAM = process.env["KUBE_APISERVER"] ?? "";

/** Reports whether the API server can run here. Tests that need it are skipped where it cannot. */
export const hasKubernetes: boolean = hasEtcd && existsSync(PROGRAM);

/** The user of this token may do everything. */
const ADMIN_TOKEN = "secret";

export interface KubernetesProcess {
  readonly url: string;
  readonly ca: string;
  readonly token: string;
  /** Makes a request to the API. Returns the answer. Throws if it is an error. */
  api(method: string, path: string, body?: object | string, type?: string): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

export async function startKubernetes(): Promise<KubernetesProcess> {
  const folder = mkdtempSync(join(tmpdir(), "triple-es-kubernetes-"));
  const file = (name: string): string => join(folder, name);
  const openssl = (...args: string[]): unknown => execFileSync("openssl", args, { stdio: "ignore" });
  openssl("genrsa", "-out", file("sa.key"), "2048");
  openssl("rsa", "-in", file("sa.key"), "-pubout", "-out", file("sa.pub"));
  writeFileSync(file("tokens"), `${ADMIN_TOKEN},admin,1,"system:masters"\n`);
  const etcd = await startEtcd();
  const port = await freePort();
  const send = (method: string, path: string, body = "", type = "application/json"): Promise<[number, string]> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": type };
      const options = { method, host: "127.0.0.1", port, path, headers, rejectUnauthorized: false };
      request(options, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        response.on("end", () => resolve([response.statusCode ?? 0, text]));
      })
        .on("error", reject)
        .end(body);
    });
  const server = await startRegistry({
    name: "kubernetes",
    port,
    command: () => [
      PROGRAM,
      ...[`--etcd-servers=http://${etcd.address}`, "--etcd-prefix=/kubernetes", `--cert-dir=${file("certs")}`],
      ...["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", `--secure-port=${port}`],
      ...["--endpoint-reconciler-type=none", "--service-account-issuer=https://localhost"],
      ...[`--service-account-signing-key-file=${file("sa.key")}`, `--service-account-key-file=${file("sa.pub")}`],
      ...["--service-cluster-ip-range=10.0.0.0/24", "--authorization-mode=RBAC"],
      ...[`--token-auth-file=${file("tokens")}`, "--disable-admission-plugins=ServiceAccount"],
    ],
    isReady: () =>
      send("GET", "/readyz").then(
        ([status]) => status === 200,
        () => false,
      ),
  });
  return {
    url: `https://127.0.0.1:${port}`,
    ca: readFileSync(join(folder, "certs", "apiserver.crt"), "utf8"),
    token: ADMIN_TOKEN,
    async api(method, path, body, type) {
      const [status, text] = await send(method, path, typeof body === "string" ? body : JSON.stringify(body), type);
      if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
      return JSON.parse(text) as Record<string, unknown>;
    },
    async close() {
      await server.close();
      await etcd.close();
      rmSync(folder, { recursive: true });
    },
  };
}
