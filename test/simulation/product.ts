/**
 * The product as simulations see it: the entry point of the bundle that is evaluated once for each world.
 */
export { RpcError } from "triple-es";
export { p2c, register, roundRobin } from "triple-es/discovery";
export { etcd } from "triple-es/etcd";
export { createServer, createTransport } from "triple-es/node";
export { zookeeper } from "triple-es/zookeeper";
export { KVDef, LeaseDef, WatchDef } from "../../runtime/src/gen/etcd/rpc_triple.ts";
export { createSimulationServiceClient, SimulationServiceDef } from "./gen/simulation/v1/simulation_triple.ts";
