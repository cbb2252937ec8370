/**
 * The runs of `triple-es interface` whose output is committed, with their arguments.
 */
export const CONTRACT_RUNS: readonly (readonly string[])[] = [
  // Stubs of all test contracts.
  ["fixtures/interface/contracts/**/*.ts", "--out", "fixtures/interface/gen", "--import-extension", "ts"],
  // Java interfaces of the same contracts, except those with selectors, which have no counterpart in Java.
  ["fixtures/interface/contracts/**/*.ts", "!**/selectors.ts", "--out", "fixtures/interface/gen/java", "--java"],
  // JavaScript and declaration files of contracts that import each other.
  [
    "fixtures/interface/contracts/circle/*.ts",
    "--out",
    "fixtures/interface/js/gen",
    "--root",
    "fixtures/interface/contracts",
    "--target",
    "js+dts",
  ],
  // The service of the interop tests with Dubbo for Java and dubbo-go.
  ["test/interop/dubbo/contract/*.ts", "--out", "test/interop/dubbo/gen", "--import-extension", "ts"],
];
