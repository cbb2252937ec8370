/** The version of this package, as `user-agent` tells it. A test holds it against package.json. */
export const VERSION = "0.1.0";
