/**
 * nginx between client and server, with `grpc_pass`.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Credentials, MissingPeer, type Target } from "../../peer.ts";
import { installDebianPackages, outputOf, type Running, startProgram } from "../../program.ts";

/** Returns the version of nginx. Throws if nginx is missing. */
export function nginxVersion(): string {
  installDebianPackages("nginx-light");
  const said = outputOf("nginx", "-v");
  if (said === undefined) throw new MissingPeer("there is no nginx on the PATH (nginx-light)");
  return said.replace(/^.*nginx\//s, "");
}

/** Starts nginx in front of a server. With credentials, connections to nginx and from nginx to the server use TLS. */
export async function startNginx({ port: backend, credentials }: Target): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), "triple-es-nginx-"));
  const running = await startProgram((port) => {
    const path = join(folder, "nginx.conf");
    writeFileSync(path, configuration(folder, port, backend, credentials));
    return ["nginx", "-p", folder, "-e", "stderr", "-c", path];
  });
  const stop = async (): Promise<void> => {
    await running.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { port: running.port, stop };
}

function configuration(folder: string, port: number, backend: number, credentials: Credentials | undefined): string {
  const tls = credentials && `ssl_certificate ${credentials.files.cert}; ssl_certificate_key ${credentials.files.key};`;
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  );
  return `
    daemon off;
    worker_processes 1;
    pid ${join(folder, "nginx.pid")};
    events {}
    http {
      access_log off;
      ${temporary.join(" ")}
      client_max_body_size 0;
      server {
        listen 127.0.0.1:${port} http2${credentials === undefined ? "" : " ssl"};
        ${tls ?? ""}
        location / { grpc_pass ${credentials === undefined ? "grpc" : "grpcs"}://127.0.0.1:${backend}; }
      }
    }
  `;
}
