/**
 * The product as simulations see it: the entry point of the bundle that is evaluated once for each world.
 */
export { createContextKey, createContextValues, RpcError } from "triple-es";
export { dns, kubernetes, p2c, pickFirst, roundRobin, weightedRoundRobin } from "triple-es/discovery";
export { addHealth, addLoadReports } from "triple-es/health";
export { createServer, createTransport } from "triple-es/node";
export { register } from "triple-es-dubbo";
export { etcd } from "triple-es-dubbo/etcd";
export { nacos } from "triple-es-dubbo/nacos";
export { zookeeper } from "triple-es-dubbo/zookeeper";
export { KVDef, LeaseDef, WatchDef } from "../../dubbo/src/gen/etcd/rpc_triple.ts";
export { BiRequestStreamDef, RequestDef } from "../../dubbo/src/gen/nacos/nacos_grpc_service_triple.ts";
export { createSimulationServiceClient, SimulationServiceDef } from "./gen/simulation/v1/simulation_triple.ts";
