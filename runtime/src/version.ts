/** The version of this package, as the header `user-agent` contains it. A test compares it with package.json. */
export const VERSION = "0.1.0";
