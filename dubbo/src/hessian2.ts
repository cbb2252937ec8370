/**
 * Entry point `triple-es-dubbo/hessian2`: Hessian 2, Dubbo's serialization of interface methods.
 *
 * @module triple-es-dubbo/hessian2
 */
export { type DubboJavaOptions, dubboJava } from "./interface/dubbo.ts";
export type { Hessian2Limits } from "./interface/hessian2/raw.ts";
export { createHessian2, type Hessian2Options, hessian2 } from "./interface/hessian2/serialization.ts";
