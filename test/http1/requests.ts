/**
 * Known variants of request smuggling and desynchronisation (RFC 9112, section 11.2). In their texts ¶ is CRLF.
 */

const P = "POST / HTTP/1.1¶Host: a¶";
const K = `${P}Transfer-Encoding: chunked¶¶`;
export const G = "GET /next HTTP/1.1¶Host: a¶¶";
const E = "0¶¶";
const EVIL = "GET /evil HTTP/1.1¶Host: a¶¶";

export const bytes = (text: string): string => text.replaceAll("¶", "\r\n");

/** Each input is followed by a whole request, which must not be served. */
export const REFUSED: readonly [name: string, status: number, ...inputs: string[]][] = [
  ["CL.TE", 400, `${P}Content-Length: 6¶Transfer-Encoding: chunked¶¶${E}`],
  ["TE.CL", 400, `${P}Transfer-Encoding: chunked¶Content-Length: 4¶¶5c¶${EVIL}¶${E}`],
  ["CL+TE in HTTP/1.0", 400, "POST / HTTP/1.0¶Content-Length: 3¶Transfer-Encoding: chunked¶¶"],
  ["TE in HTTP/1.0", 400, `POST / HTTP/1.0¶Connection: keep-alive¶Transfer-Encoding: chunked¶¶3¶abc¶${E}`],
  ["TE of an unknown coding", 501, `${P}Transfer-Encoding: xchunked¶¶`, `${P}Transfer-Encoding: identity¶¶`],
  ["TE whose name is broken", 400, `${P}Transfer-Encoding : chunked¶¶`, `${P}Transfer-¶Encoding: chunked¶¶`],
  ["TE after VT and FF", 400, `${P}Transfer-Encoding: \x0bchunked¶¶`, `${P}Transfer-Encoding: \x0cchunked¶¶`],
  ["TE after NBSP and NEL", 501, `${P}Transfer-Encoding: \xa0chunked¶¶`, `${P}Transfer-Encoding: \x85chunked¶¶`],
  ["TE with a comma first", 501, `${P}Transfer-Encoding: ,chunked¶¶`],
  ["TE with a comma first, and CL", 400, `${P}Transfer-Encoding: ,chunked¶Content-Length: 5¶¶`.replace(",", "")],
  ["TE twice", 400, `${P}Transfer-Encoding: chunked¶Transfer-Encoding: chunked¶¶`],
  ["TE twice, the second unknown", 400, `${P}Transfer-Encoding: chunked¶Transfer-Encoding: x¶¶`],
  ["chunked is not last", 400, ...["chunked, identity", "chunked,", ""].map((te) => `${P}Transfer-Encoding: ${te}¶¶`)],
  ["another coding before chunked", 501, `${P}Transfer-Encoding: gzip, chunked¶¶`],
  ["TE folded", 400, `${P}Transfer-Encoding:¶ chunked¶¶`],
  ["TE quoted, with a parameter", 501, ...['"chunked"', "chunked;a=b"].map((te) => `${P}Transfer-Encoding: ${te}¶¶`)],
  ["TE after a bare LF or CR", 400, ...["\n", "\r"].map((end) => `${P}X: y${end}Transfer-Encoding: chunked¶¶`)],
  ["TE with NUL", 400, `${P}Transfer-Encoding: chunked\0¶¶`],
  ["CL.CL", 400, `${P}Content-Length: 3¶Content-Length: 4¶¶`, `${P}Content-Length: 3¶Content-Length: 3¶¶`],
  ["CL in a list", 400, `${P}Content-Length: 3, 4¶¶`, `${P}Content-Length: 3, 3¶¶`],
  [
    "CL that is no number",
    400,
    ...["+3", "-48", "0x10", "1_0", "3.0", "1Z", "3 4", "", "\xef\xbc\x93", "\x0b3", "3\xa0"].map(
      (length) => `${P}Content-Length: ${length}¶¶`,
    ),
  ],
  ["CL empty before a second one", 400, `${P}Content-Length:¶Content-Length: 3¶¶`],
  [
    "CL that wraps around",
    400,
    ...["18446744073709551619", "9007199254740993", "9007199254740992"].map(
      (length) => `${P}Content-Length: ${length}¶¶`,
    ),
  ],
  [
    "CL with another name",
    400,
    ...["Content-Length\x85: 10", "Content-Length : 3", "Content-Length 10", "Content-Length\0: 3"].map(
      (field) => `${P}${field}¶¶`,
    ),
  ],
  ["the first field indented", 400, "GET / HTTP/1.1¶ Content-Length: 1¶¶X", "GET / HTTP/1.1¶\tHost: a¶¶"],
  ["a field without a name", 400, "GET / HTTP/1.1¶: x¶Host: a¶¶"],
  ["a field without a colon", 400, "GET / HTTP/1.1¶Host: a¶x¶¶"],
  ["a head cut by CR", 400, `GET / HTTP/1.1¶Host: a¶\rZ${EVIL}`, `GET / HTTP/1.1¶Host: a¶\r\r\n${EVIL}`],
  ["LF instead of CRLF", 400, "GET / HTTP/1.1\nHost: a¶¶", "GET / HTTP/1.1¶Host: a\n¶", "GET / HTTP/1.1¶Host: a¶\n"],
  ["a value with NUL or other control characters", 400, ...["\0", "\x01", "\x7f"].map((c) => `${P}X: a${c}b¶¶`)],
  ["an expectation refused, then a body", 417, `${P}Expect: 100-later¶Content-Length: 28¶¶`],
  ["an expectation obfuscated", 417, `${P}Expect: y 100-continue¶¶`, `${P}Expect: 100-continue, 100-continue¶¶`],
  ["an expectation folded", 400, `${P}Expect:¶ 100-continue¶¶`],
  [
    "chunk size with a prefix",
    400,
    ...["0_2e", "0x3", "+3", "-3", " 3", "", ";a"].map((size) => `${K}${size}¶abc¶${E}`),
  ],
  ["chunk size huge", 400, `${K}10000000000000003¶abc¶`, `${K}FFFFFFFFFFFFFFFF¶abc¶`, `${K}${"0".repeat(16)}3¶abc¶`],
  ["chunk size with a space", 400, `${K}3 ¶abc¶${E}`, `${K}3\t;a¶abc¶${E}`],
  ["LF in an extension (TERM.EXT)", 400, `${K}2;\nxx¶4c¶${E}${EVIL}`, `${K}2;a\nb¶xx¶${E}`],
  ["chunk data that spills", 400, `${K}5¶helloXX${E}`, `${K}5¶hello\n${E}`, `${K}1¶A\n${E}`, `${K}5¶hello${E}`],
  ["CR in an extension", 400, `${K}5\r\r;ABCD¶34¶E¶${E}`, `${K}5;a\rb¶hello¶${E}`],
  ["LF in a quoted extension", 400, `${K}3;a="x\ny"¶abc¶${E}`],
  [
    "extensions out of grammar",
    400,
    ...[";", ";=a", ";a=", ';a="', ";a b", ";a\0", ';a="b"c'].map((x) => `${K}3${x}¶abc¶${E}`),
  ],
  ["long extensions", 400, `${K}3;${"a".repeat(257)}¶abc¶${E}`],
  ["many extensions", 400, `${K}${`1;${"a".repeat(200)}¶x¶`.repeat(83)}${E}`],
  ["an invalid chunk, then a request", 400, `${K}INVALID!¶`],
  ["a last chunk that ends with LF", 400, `${K}0¶\n`, `${K}0\n¶`],
  ["trailers that frame the message", 400, `${K}0¶Content-Length: 9¶¶`, `${K}0¶Transfer-Encoding: chunked¶¶`],
  ["a trailer without a colon, folded, or with LF", 400, `${K}0¶x y¶¶`, `${K}0¶a: b¶ c¶¶`, `${K}0¶a: b\n¶`],
  ["many trailers", 400, `${K}0¶${"a: b¶".repeat(33)}¶`, `${K}0¶a: ${"b".repeat(4096)}¶¶`],
  ["HTTP/0.9", 400, "GET /¶¶", "GET /¶Host: a¶¶"],
  ["other versions", 505, ...["HTTP/1.2", "HTTP/2.0", "HTTP/0.9", "RTSP/1.0"].map((v) => `GET / ${v}¶Host: a¶¶`)],
  [
    "malformed versions",
    400,
    ...["HTTP/1.32", "HTTP/\r\r1.1", "HTTP/1.1 X", "http/1.1", "HTTP/01.1", "HTTP/1", "HTTP/1.1 ", "HTTP/1.1x"].map(
      (version) => `GET / ${version}¶Host: a¶¶`,
    ),
  ],
  ["a method with a delimiter", 400, 'G"ET / HTTP/1.1¶Host: a¶¶', `${"A".repeat(33)} / HTTP/1.1¶Host: a¶¶`],
  [
    "a target with spaces or control characters",
    400,
    ...["/a HTTP/1.1", " /", "\t/", "/\x0b", "/\x7f", "/\xe9", "/a#b", "/\0"].map((t) => `GET ${t} HTTP/1.1¶Host: a¶¶`),
  ],
  [
    "a target without a slash",
    400,
    "GET a HTTP/1.1¶Host: a¶¶",
    "GET a:80 HTTP/1.1¶Host: a¶¶",
    "GET * HTTP/1.1¶Host: a¶¶",
  ],
  [
    "a user in the target, or no host",
    400,
    ...["u@a", "", ":80", "a:x"].map((host) => `GET http://${host}/ HTTP/1.1¶Host: a¶¶`),
  ],
  ["a target with another scheme", 400, "GET ftp://a/ HTTP/1.1¶Host: a¶¶", "GET t1://a/ HTTP/1.1¶Host: a¶¶"],
  [
    "a Host that is a list, has a user, a path, a space or an invalid port",
    400,
    ...["a, b", "u@a", "a/b", "a b", "a:x", ":80", "a:80:80", "[::1", "[::1]x"].map(
      (h) => `GET / HTTP/1.1¶Host: ${h}¶¶`,
    ),
  ],
  ["two Hosts, or none", 400, "GET / HTTP/1.1¶Host: a¶Host: a¶¶", "GET / HTTP/1.1¶¶"],
  ["CONNECT", 405, "CONNECT a:80 HTTP/1.1¶Host: a¶¶"],
  ["the preface of HTTP/2 after a request", 505, "PRI * HTTP/2.0¶¶SM¶¶"],
  ["whitespace before the request line", 400, " GET / HTTP/1.1¶Host: a¶¶", "\tGET / HTTP/1.1¶Host: a¶¶"],
  ["empty lines of LF, or many of them", 400, `\n${EVIL}`, `${"¶".repeat(5)}${EVIL}`],
];

/** Each input is followed by another request, which must be served. */
export const SERVED: readonly [name: string, input: string, body: string][] = [
  ["TE with an underscore", `${P}Transfer_Encoding: chunked¶Content-Length: 3¶¶abc`, "abc"],
  ["TE in Connection", `${P}Connection: Transfer-Encoding¶Transfer-Encoding: chunked¶¶3¶abc¶${E}`, "abc"],
  ["CL in Connection", `${P}Connection: Content-Length¶Content-Length: 3¶¶abc`, "abc"],
  ["TE in capitals, with tabs", `${P}Transfer-Encoding:\tCHUNKED\t¶¶3¶abc¶${E}`, "abc"],
  ["CL with zeros", `${P}Content-Length: 010¶¶0123456789`, "0123456789"],
  ["CL.0", `${P}Content-Length: ${bytes(EVIL).length}¶¶${EVIL}`, bytes(EVIL)],
  ["a body of GET", `GET / HTTP/1.1¶Host: a¶Content-Length: ${bytes(EVIL).length}¶¶${EVIL}`, bytes(EVIL)],
  ["an expectation, then the body at once", `${P}Expect: 100-continue¶Content-Length: 5¶¶hello`, "hello"],
  ["extensions", `${K}3;a;b=c;d="e\\"f"¶abc¶0;x¶¶`, "abc"],
  ["a last chunk of zeros", `${K}3¶abc¶000¶¶`, "abc"],
  ["a trailer that looks like a request", `${K}0¶X:POST / HTTP/1.1¶¶`, ""],
  ["trailers", `${K}3¶abc¶0¶A: b¶Host: evil¶Authorization: x¶¶`, "abc"],
  ["an upgrade", "GET / HTTP/1.1¶Host: a¶Connection: Upgrade¶Upgrade: websocket¶¶", ""],
  ["up to four empty lines", `¶¶¶¶${P}Content-Length: 3¶¶abc`, "abc"],
];
