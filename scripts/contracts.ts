/**
 * The runs of `triple-es interface` and `triple-es contract` whose output is committed, with their arguments.
 */
import type { CommandName } from "../src/contract/arguments.ts";

export const CONTRACT_RUNS: readonly (readonly [CommandName, ...string[]])[] = [
  // Stubs of all test contracts.
  ["interface", "fixtures/interface/contracts/**/*.ts", "--out", "fixtures/interface/gen", "--import-extension", "ts"],
  // Java interfaces of the same contracts, except those with selectors, which have no counterpart in Java.
  [
    "interface",
    "fixtures/interface/contracts/**/*.ts",
    "!**/selectors.ts",
    "--out",
    "fixtures/interface/gen/java",
    "--java",
  ],
  // JavaScript and declaration files of contracts that import each other.
  [
    "interface",
    "fixtures/interface/contracts/circle/*.ts",
    "--out",
    "fixtures/interface/js/gen",
    "--root",
    "fixtures/interface/contracts",
    "--target",
    "js+dts",
  ],
  // The service of the interop tests with Dubbo for Java and dubbo-go.
  ["interface", "test/interop/dubbo/contract/*.ts", "--out", "test/interop/dubbo/gen", "--import-extension", "ts"],
  // The service of the tests of contracts in TypeScript.
  [
    "contract",
    "fixtures/contract/shop.ts",
    "--out",
    "fixtures/contract/gen",
    "--import-extension",
    "ts",
    "--openapi",
    "--proto",
    "fixtures/contract/proto/shop/v1/shop.proto",
  ],
];
