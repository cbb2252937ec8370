/** The version of the package, as generated files and `--version` print it. */
export const version = "v0.1.0";
