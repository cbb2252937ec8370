/**
 * Which HTTP/2 engine moves bytes: that of `node:http2`, or our own. For tests that compare the two.
 */

/** Set by the environment variable `TRIPLE_ES_HTTP2`: `own` or `node`. Not an option for users. */
export const usesOwnHttp2: boolean = process.env["TRIPLE_ES_HTTP2"] === "own";
