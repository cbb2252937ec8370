import { zookeeper } from "triple-es-dubbo/zookeeper";

/** Servers register here, and clients find them. */
export const registry = zookeeper({ servers: [process.env["REGISTRY"] ?? "127.0.0.1:2181"] });
