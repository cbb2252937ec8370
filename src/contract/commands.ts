/** The commands, which load a compiler: ts-morph, an optional peer dependency. */
export { runInterface } from "./command.ts";
export { runContract, watchContract } from "./typescript/contract-command.ts";
