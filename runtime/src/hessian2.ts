/**
 * Entry point `triple-es/hessian2`: Hessian 2, Dubbo's serialization of interface methods.
 *
 * @module triple-es/hessian2
 */
export { type DubboJavaOptions, dubboJava } from "./java/dubbo.ts";
export type { Hessian2Limits } from "./java/hessian2/raw.ts";
export { createHessian2, type Hessian2Options, hessian2 } from "./java/hessian2/serialization.ts";
