/**
 * The product as simulations see it: the entry point of the bundle that is evaluated once for each world.
 */
export { createContextKey, createContextValues, RpcError } from "triple-es";
export { p2c, pickFirst, roundRobin } from "triple-es/discovery";
export { createServer, createTransport } from "triple-es/node";
export { register } from "triple-es-dubbo";
export { etcd } from "triple-es-dubbo/etcd";
export { zookeeper } from "triple-es-dubbo/zookeeper";
export { KVDef, LeaseDef, WatchDef } from "../../dubbo/src/gen/etcd/rpc_triple.ts";
export { createSimulationServiceClient, SimulationServiceDef } from "./gen/simulation/v1/simulation_triple.ts";
