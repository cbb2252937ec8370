/** Which HTTP/2 engine the tests run on: that of Node, or with the environment variable `TRIPLE_ES_HTTP2=own` ours. */
export const ownEngine: boolean = process.env["TRIPLE_ES_HTTP2"] === "own";
