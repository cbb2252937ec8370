/** Responses, and what a client has to make of them. In their texts ¶ is CRLF. */

export const OK = "HTTP/1.1 200 OK¶content-length: 2¶¶ok";
export const CHUNKED = "HTTP/1.1 200 OK¶transfer-encoding: chunked¶¶";

/** Responses after which the connection is used again. */
export const REUSED: readonly [name: string, response: string, status: number, body: string, method?: string][] = [
  ["with a length", OK, 200, "ok"],
  ["in chunks", `${CHUNKED}1;a="b"¶o¶1¶k¶0¶¶`, 200, "ok"],
  ["in chunks with trailers", `${CHUNKED}2¶ok¶0¶x: y¶z: 1¶¶`, 200, "ok"],
  ["without a reason phrase", "HTTP/1.1 200¶content-length: 2¶¶ok", 200, "ok"],
  [
    "after interim responses",
    `HTTP/1.1 100 Continue¶¶${"HTTP/1.1 103 Early Hints¶link: a¶¶".repeat(9)}${OK}`,
    200,
    "ok",
  ],
  ["of 204", "HTTP/1.1 204 No Content¶¶", 204, ""],
  ["of 304, whose length is that of another response", "HTTP/1.1 304 Not Modified¶content-length: 9¶¶", 304, ""],
  ["to HEAD", "HTTP/1.1 200 OK¶content-length: 9¶¶", 200, "", "HEAD"],
];

/** Responses that are whole, and after which the connection ends. */
export const LAST: readonly [name: string, response: string, body: string][] = [
  ["with connection: close", "HTTP/1.1 200 OK¶connection: x, Close¶content-length: 2¶¶ok", "ok"],
  ["of HTTP/1.0", "HTTP/1.0 200 OK¶connection: keep-alive¶content-length: 2¶¶ok", "ok"],
  ["followed by bytes", `${OK}x`, "ok"],
  ["followed by another response", `${OK}${OK.replace("ok", "no")}`, "ok"],
  ["followed by an empty line", `${OK}¶`, "ok"],
];

/** Responses that are refused. */
export const REFUSED: readonly [name: string, ...responses: string[]][] = [
  ["two lengths", ...["3", "2"].map((other) => `HTTP/1.1 200 OK¶content-length: 2¶content-length: ${other}¶¶ok`)],
  ["a list of lengths", "HTTP/1.1 200 OK¶content-length: 2, 2¶¶ok"],
  ["a length and a coding", `HTTP/1.1 200 OK¶content-length: 2¶transfer-encoding: chunked¶¶2¶ok¶0¶¶`],
  [
    "a length that is no number",
    ...["+2", "0x2", "2.0", "", "-1"].map((n) => `HTTP/1.1 200 OK¶content-length: ${n}¶¶ok`),
  ],
  ["another coding", ...["gzip", "gzip, chunked", "chunked, gzip"].map((c) => CHUNKED.replace("chunked", c))],
  ["a coding over HTTP/1.0", CHUNKED.replace("1.1", "1.0")],
  ["a folded field", "HTTP/1.1 200 OK¶x: a¶ b¶content-length: 2¶¶ok"],
  ["a space before the colon", "HTTP/1.1 200 OK¶content-length : 2¶¶ok"],
  ["LF without CR", "HTTP/1.1 200 OK\ncontent-length: 2¶¶ok", "HTTP/1.1 200 OK¶content-length: 2\n¶ok"],
  ["CR without LF", "HTTP/1.1 200 OK¶x: a\rb¶content-length: 2¶¶ok"],
  ["NUL in a value", "HTTP/1.1 200 OK¶x: a\0b¶content-length: 2¶¶ok"],
  ["a status out of range", ...["000", "099", "600", "999", "20", "2000", "abc"].map((s) => OK.replace("200", s))],
  ["another version", ...["HTTP/2.0", "HTTP/1.2", "http/1.1", "HTTP/1.1 "].map((v) => OK.replace("HTTP/1.1", v))],
  ["101 without an upgrade", "HTTP/1.1 101 Switching Protocols¶upgrade: x¶¶"],
  ["an interim response over HTTP/1.0", `HTTP/1.0 103 Early Hints¶¶${OK}`],
  ["too many interim responses", "HTTP/1.1 102 Processing¶¶".repeat(11) + OK],
  ["an invalid chunk", ...["x", "-1", " 2", "2 ", "2\n"].map((size) => `${CHUNKED}${size}¶ok¶0¶¶`)],
  ["a chunk that is longer than its size", `${CHUNKED}1¶ok¶0¶¶`],
  ["too many trailers", `${CHUNKED}0¶${"a: b¶".repeat(33)}¶`, `${CHUNKED}0¶a: ${"b".repeat(4096)}¶¶`],
  ["a trailer that frames the message", `${CHUNKED}0¶content-length: 2¶¶`],
  ["a head over the limit", `HTTP/1.1 200 OK¶x: ${"x".repeat(2048)}¶¶`],
];
