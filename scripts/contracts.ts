/**
 * The runs of `triple-es interface` whose output is committed, with their arguments.
 */
export const CONTRACT_RUNS: readonly (readonly string[])[] = [
  // The stubs of every contract of the tests.
  ["fixtures/interface/contracts/**/*.ts", "--out", "fixtures/interface/gen", "--import-extension", "ts"],
  // Their Java interfaces. Selectors have no counterpart in Java.
  ["fixtures/interface/contracts/**/*.ts", "!**/selectors.ts", "--out", "fixtures/interface/gen/java", "--java"],
  // JavaScript and declarations, of contracts that import each other.
  [
    "fixtures/interface/contracts/circle/*.ts",
    "--out",
    "fixtures/interface/js/gen",
    "--root",
    "fixtures/interface/contracts",
    "--target",
    "js+dts",
  ],
  // The service that Dubbo for Java and dubbo-go call and serve.
  ["test/interop/dubbo/contract/*.ts", "--out", "test/interop/dubbo/gen", "--import-extension", "ts"],
];
