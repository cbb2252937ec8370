/** The version of the package, as printed in generated files and by `--version`. */
export const version = "v0.1.0";

/**
 * The format of generated code, for the runtime to check. It increases when generated code needs something that earlier
 * runtimes do not have, or when runtimes stop to support earlier code.
 */
export const FORMAT = "1";
