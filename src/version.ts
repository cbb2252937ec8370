/** The version of the package, as printed in generated files and by `--version`. */
export const version = "v0.1.0";
