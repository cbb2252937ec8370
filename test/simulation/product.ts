/**
 * The product as simulations see it: the entry point of the bundle that is evaluated once for each world.
 */
export { RpcError } from "triple-es";
export { p2c, roundRobin } from "triple-es/discovery";
export { createServer, createTransport } from "triple-es/node";
export { createSimulationServiceClient, SimulationServiceDef } from "./gen/simulation/v1/simulation_triple.ts";
