/** The version of the package, as generated files and `--version` tell it. */
export const version = "v0.1.0";
