import { etcd } from "triple-es-dubbo/etcd";

/** Servers register here, and clients find them. */
export const registry = etcd({ servers: [process.env["REGISTRY"] ?? "127.0.0.1:2379"] });
