import { nacos } from "triple-es-dubbo/nacos";

/** Servers register here, and clients find them. */
export const registry = nacos({ servers: [process.env["REGISTRY"] ?? "127.0.0.1:8848"] });
