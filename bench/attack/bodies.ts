/**
 * Bodies of 4 MiB that are costly to decode, by format. Each is within the limits of a server, or is refused by one of them.
 */
import zlib from "node:zlib";
import { encodeWrapper } from "../../dubbo/src/interface/wrapper/wrapper.ts";

/** A request that is made from a number of bytes, so that a small one of the same kind can warm up. */
export interface Attack {
  readonly format: string;
  readonly name: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  body(bytes: number): Uint8Array;
}

type Make = (bytes: number) => Uint8Array;

/** As many parts as there is space for, between a head and a tail. */
function fill(
  bytes: number,
  part: (index: number) => Uint8Array | string,
  head = "",
  tail = "",
  separator = "",
): Buffer {
  const parts: Buffer[] = [Buffer.from(head)];
  let size = head.length + tail.length;
  for (let i = 0; ; i++) {
    const one = Buffer.concat([Buffer.from(i === 0 ? "" : separator), Buffer.from(part(i) as string)]);
    if (size + one.byteLength > bytes) break;
    parts.push(one);
    size += one.byteLength;
  }
  return Buffer.concat([...parts, Buffer.from(tail)]);
}

function varint(value: number): number[] {
  const bytes = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return [...bytes, rest];
}

/** A length-delimited field of protobuf. */
function field(number: number, content: Uint8Array | string): Buffer {
  const bytes = Buffer.from(content as string);
  return Buffer.concat([Buffer.from([...varint((number << 3) | 2), ...varint(bytes.byteLength)]), bytes]);
}

const inField =
  (number: number, make: Make): Make =>
  (bytes) =>
    field(number, make(bytes - 8));
const repeated =
  (part: (index: number) => Uint8Array | string): Make =>
  (bytes) =>
    fill(bytes, part);
const text = (bytes: number, character = "x"): Buffer =>
  Buffer.from(character.repeat(Math.floor(bytes / Buffer.byteLength(character))));
const int = (number: number, value: number): Buffer => Buffer.from([...varint(number << 3), ...varint(value)]);

/** A `google.protobuf.Value` that is an empty list, and a struct with a key. */
const EMPTY_LIST = field(6, "");
const pair = (index: number): Buffer => field(1, Buffer.concat([field(1, `k${index}`), field(2, EMPTY_LIST)]));
const nested =
  (levels: number, make: Make): Make =>
  (bytes) => {
    let content: Uint8Array = make(bytes - 8 * levels);
    for (let i = 0; i < levels; i++) content = field(15, content);
    return content;
  };

const PROTO: Readonly<Record<string, Make>> = {
  "text of 1 byte a character": inField(1, text),
  "text of 3 bytes a character": inField(1, (bytes) => text(bytes, "\u20ac")),
  bytes: inField(2, text),
  "empty messages": repeated(() => field(3, "")),
  "messages, a quarter of the size": (bytes) => fill(bytes / 4, () => field(3, int(3, 1))),
  "map of messages": (bytes) => fill(bytes / 4, (i) => field(4, field(1, `k${i}`))),
  "map of integers": repeated((i) => field(5, Buffer.concat([int(1, i), int(2, 1)]))),
  "packed 64-bit integers": (bytes) => field(6, Buffer.alloc(bytes / 2, 1)),
  "packed integers": inField(7, (bytes) => Buffer.alloc(bytes, 1)),
  "packed doubles": inField(8, (bytes) => Buffer.alloc(bytes - (bytes % 8), 1)),
  "empty texts": repeated(() => field(9, "")),
  "texts of a byte": repeated(() => field(9, "x")),
  "struct of many keys": inField(10, (bytes) => fill(bytes / 2, pair)),
  "value of many lists": (bytes) =>
    field(
      11,
      field(
        6,
        fill(bytes / 4, () => field(1, EMPTY_LIST)),
      ),
    ),
  "list of many numbers": inField(
    12,
    repeated(() => field(1, Buffer.from([0x11, 0, 0, 0, 0, 0, 0, 0, 0]))),
  ),
  "list of large numbers of texts": inField(
    12,
    repeated(() => field(1, field(3, "x"))),
  ),
  "many Any": repeated(() => field(14, field(1, "x"))),
  enums: inField(16, (bytes) => Buffer.alloc(bytes, 1)),
  "map of texts": repeated((i) => field(17, field(1, `k${i}`))),
  "paths of a mask": inField(
    18,
    repeated(() => field(1, "ab")),
  ),
  "empty wrappers": (bytes) => fill(bytes / 2, () => field(20, "")),
  "90 levels": nested(
    90,
    repeated(() => field(9, "x")),
  ),
  "unknown fields": repeated(() => int(30, 0)),
  "unknown texts": repeated(() => field(30, "xxxxxxxxxxxxxxxxxxxx")),
};

const member =
  (name: string, make: Make): Make =>
  (bytes) =>
    Buffer.concat([Buffer.from(`{"${name}":`), make(bytes - name.length - 6), Buffer.from("}")]);
const list =
  (part: (index: number) => string): Make =>
  (bytes) =>
    fill(bytes, part, "[", "]", ",");
const object =
  (part: (index: number) => string): Make =>
  (bytes) =>
    fill(bytes, part, "{", "}", ",");
const quoted =
  (make: Make): Make =>
  (bytes) =>
    Buffer.concat([Buffer.from('"'), make(bytes - 2), Buffer.from('"')]);
const digits = (bytes: number): Buffer => text(bytes, "7");
const part =
  (make: Make, share: number): Make =>
  (bytes) =>
    make(bytes / share);
const ANY_STRUCT = '{"@type":"type.googleapis.com/google.protobuf.Struct","value":{"a":1}}';
const KEYS = object((i) => `"k${i}":${i}`);

const JSON_PROTO: Readonly<Record<string, Make>> = {
  text: member("text", quoted(text)),
  "text of escapes": member(
    "text",
    quoted((bytes) => text(bytes, "\\u0041")),
  ),
  base64: member(
    "data",
    quoted((bytes) => text(bytes - (bytes % 4), "AAAA")),
  ),
  "empty messages": member(
    "wides",
    list(() => "{}"),
  ),
  "messages, a quarter": member(
    "wides",
    part(
      list(() => '{"c":1}'),
      4,
    ),
  ),
  "messages of unknown keys": member(
    "wides",
    part(
      list((i) => `{"k${i}":1}`),
      2,
    ),
  ),
  "map of messages": member(
    "byName",
    part(
      object((i) => `"k${i}":{}`),
      3,
    ),
  ),
  "map of integers": member(
    "numbers",
    object((i) => `"${i}":1`),
  ),
  "64-bit integers": member(
    "longs",
    list(() => "1"),
  ),
  "texts as 64-bit integers": member(
    "longs",
    list(() => '"1"'),
  ),
  doubles: member(
    "doubles",
    list(() => "1.5"),
  ),
  "doubles of 17 digits": member(
    "doubles",
    list(() => "1.2345678901234567"),
  ),
  texts: member(
    "words",
    list(() => '"x"'),
  ),
  "struct of many keys": member("object", KEYS),
  "struct of empty lists": member(
    "object",
    part(
      object((i) => `"k${i}":[]`),
      2,
    ),
  ),
  "struct in struct": member("object", member("a", KEYS)),
  "value of lists": member(
    "value",
    part(
      list(() => "[]"),
      2,
    ),
  ),
  "list of structs": member(
    "list",
    part(
      list((i) => `{"k${i}":1}`),
      3,
    ),
  ),
  "Any of a struct": member("any", (bytes) =>
    Buffer.concat([
      Buffer.from('{"@type":"type.googleapis.com/google.protobuf.Struct","value":'),
      KEYS(bytes - 80),
      Buffer.from("}"),
    ]),
  ),
  "Any of a message": member("any", (bytes) =>
    Buffer.concat([
      Buffer.from('{"@type":"type.googleapis.com/bench.v1.Costly","labels":'),
      object((i) => `"k${i}":"x"`)(bytes - 80),
      Buffer.from("}"),
    ]),
  ),
  "Any in Any": member("any", (bytes) =>
    Buffer.concat([
      Buffer.from(
        '{"@type":"type.googleapis.com/google.protobuf.Any","value":{"@type":"type.googleapis.com/bench.v1.Costly","words":',
      ),
      list(() => '"x"')(bytes - 200),
      Buffer.from("}}"),
    ]),
  ),
  "many Any": member(
    "anys",
    list(() => ANY_STRUCT),
  ),
  enums: member(
    "colors",
    list(() => '"SYNTAX_PROTO3"'),
  ),
  "enums as numbers": member(
    "colors",
    list(() => "1"),
  ),
  "map of texts": member(
    "labels",
    object((i) => `"k${i}":""`),
  ),
  "paths of a mask": member(
    "mask",
    quoted((bytes) => fill(bytes, () => "a", "", "", ",")),
  ),
  "one path of a mask": member(
    "mask",
    quoted((bytes) => text(bytes, "aA")),
  ),
  "integer of 4 M digits": member("long", quoted(digits)),
  "number of 4 M digits": member("number", digits),
  "double of 4 M digits": member("number", quoted(digits)),
  "wrapper of 4 M digits": member("boxes", (bytes) => list(() => `"${"7".repeat(bytes - 20)}"`)(bytes)),
  "key of 4 M digits": member("byLong", (bytes) => object(() => `"${"7".repeat(bytes - 20)}":""`)(bytes)),
  "unknown objects": member(
    "unknown",
    part(
      list((i) => `{"k${i}":{}}`),
      2,
    ),
  ),
  "unknown text": member("unknown", quoted(text)),
  "spaces in a list": member("unknown", (bytes) => Buffer.from(`[${" ".repeat(bytes - 2)}]`)),
  "spaces before lists": member("unknown", (bytes) =>
    Buffer.from(`${`[${" ".repeat(bytes / 100)}`.repeat(90)}${"]".repeat(90)}`),
  ),
  "objects of an integer key": member(
    "unknown",
    part(
      list((i) => `{"${i}":1}`),
      2,
    ),
  ),
  "lists of an item": member(
    "unknown",
    list(() => "[1]"),
  ),
  "map of integers far apart": member(
    "unknown",
    part(
      object((i) => `"${(i * 7919) % 10_000_000}":1`),
      2,
    ),
  ),
  "Any of a mask": member("any", (bytes) =>
    Buffer.from(`{"@type":"type.googleapis.com/google.protobuf.FieldMask","value":"${"a,".repeat(bytes / 2 - 50)}a"}`),
  ),
  "a map, and a field that is set twice": (bytes) =>
    Buffer.concat([
      Buffer.from('{"labels":'),
      object((i) => `"k${i}":""`)(bytes - 50),
      Buffer.from(',"byLong":{},"by_long":{}}'),
    ]),
  "one key many times": object(() => '"text":"x"'),
  "many unknown keys": KEYS,
};

/** Arguments of services without IDL in JSON: `[value]`. */
const JSON_JAVA: Readonly<Record<string, readonly [method: string, Make]>> = {
  "objects of a key of their own": [
    "any",
    (bytes) => fill(Math.min(bytes, 2_000_000), (i) => `{"k${i}":1}`, "[", "]", ","),
  ],
  "objects of an integer key": ["any", (bytes) => fill(Math.min(bytes, 1_500_000), (i) => `{"${i}":1}`, "[", "]", ",")],
  "lists of an integer": [
    "any",
    part(
      list(() => "[1]"),
      8,
    ),
  ],
  "object of many keys": ["any", KEYS],
  lists: [
    "any",
    part(
      list(() => "[]"),
      4,
    ),
  ],
  "long numbers": ["longs", list(() => "9007199254740993")],
  "map of integers": ["counts", object((i) => `${i}:${i}`)],
  objects: [
    "users",
    part(
      list(() => "{}"),
      4,
    ),
  ],
  "objects with names": [
    "users",
    part(
      list((i) => `{"name":"${i}"}`),
      3,
    ),
  ],
  "set of texts": ["words", list((i) => `"${i}"`)],
  "bytes as numbers": ["bytes", list(() => "1")],
  base64: ["bytes", quoted((bytes) => text(bytes - (bytes % 4), "AAAA"))],
  "digits of a decimal": ["decimal", digits],
  "quoted digits of a decimal": ["decimal", quoted(digits)],
  "digits of a long": ["long", digits],
  "quoted digits of a long": ["long", quoted(digits)],
  "digits of an exponent": ["decimal", (bytes) => Buffer.concat([Buffer.from("1e"), digits(bytes - 2)])],
  text: ["text", quoted(text)],
  "text of escapes": ["text", quoted((bytes) => text(bytes, '\\"'))],
  chars: ["chars", quoted(text)],
  dates: ["dates", list(() => '"2026-11-22T07:00:00Z"')],
};

const STRING_PARTS = "<a>x</a>";
const XML: Readonly<Record<string, Make>> = {
  text: (bytes) => Buffer.concat([Buffer.from("<c><text>"), text(bytes - 20), Buffer.from("</text></c>")]),
  "text of references": (bytes) => fill(bytes, () => "&#65;", "<c><text>", "</text></c>"),
  "text of entities": (bytes) => fill(bytes, () => "&amp;", "<c><text>", "</text></c>"),
  "text of lines": (bytes) => fill(bytes, () => "\r\n", "<c><text>", "</text></c>"),
  "text of carriage returns": (bytes) => fill(bytes, () => "\r", "<c><text>", "</text></c>"),
  "text of CDATA": (bytes) => fill(bytes, () => "<![CDATA[x]]>", "<c><text>", "</text></c>"),
  messages: (bytes) =>
    fill(Math.min(bytes, 120_000), () => `<wides>${STRING_PARTS}</wides>`.slice(0, 23), "<c>", "</c>"),
  attributes: (bytes) => fill(bytes, (i) => ` a${i}=""`, "<c", "></c>"),
  comments: (bytes) => fill(bytes, () => "<!---->", "<c>", "</c>"),
  instructions: (bytes) => fill(bytes, () => "<?a?>", "<c>", "</c>"),
  "spaces before the root": (bytes) => Buffer.concat([text(bytes - 10, " "), Buffer.from("<c></c>")]),
  "comments before the root": (bytes) => fill(bytes, () => "<!---->", "", "<c></c>"),
  "spaces in the root": (bytes) => Buffer.concat([Buffer.from("<c>"), text(bytes - 10, " "), Buffer.from("</c>")]),
  "struct as JSON": (bytes) =>
    Buffer.concat([Buffer.from("<c><object>"), KEYS(bytes - 40), Buffer.from("</object></c>")]),
  "struct as escaped JSON": (bytes) =>
    Buffer.concat([
      Buffer.from("<c><object>"),
      Buffer.from(
        KEYS(bytes / 3 - 40)
          .toString()
          .replaceAll('"', "&quot;"),
      ),
      Buffer.from("</object></c>"),
    ]),
  "a long name": (bytes) => Buffer.from(`<c><${"a".repeat(bytes / 2 - 20)}></${"a".repeat(bytes / 2 - 20)}></c>`),
  map: (bytes) =>
    fill(
      Math.min(bytes, 130_000),
      (i) => `<entry><key>k${i}</key><value>x</value></entry>`,
      "<c><labels>",
      "</labels></c>",
    ),
  "64-bit integer of digits": (bytes) =>
    Buffer.concat([Buffer.from("<c><long>"), digits(bytes - 30), Buffer.from("</long></c>")]),
  "UTF-16": (bytes) => Buffer.from(`\ufeff<c><text>${"x".repeat(bytes / 2 - 40)}</text></c>`, "utf16le"),
};

const XML_JAVA: Readonly<Record<string, readonly [method: string, Make]>> = {
  "object of text": [
    "any",
    (bytes) => Buffer.concat([Buffer.from("<c><value>"), text(bytes - 30), Buffer.from("</value></c>")]),
  ],
  "digits of a decimal": [
    "decimal",
    (bytes) => Buffer.concat([Buffer.from("<c><value>"), digits(bytes - 30), Buffer.from("</value></c>")]),
  ],
  "digits of a long": [
    "long",
    (bytes) => Buffer.concat([Buffer.from("<c><value>"), digits(bytes - 30), Buffer.from("</value></c>")]),
  ],
  items: ["words", (bytes) => fill(Math.min(bytes, 200_000), (i) => `<item>${i}</item>`, "<c><value>", "</value></c>")],
};

const FORM: Readonly<Record<string, Make>> = {
  text: (bytes) => Buffer.concat([Buffer.from("text="), text(bytes - 5)]),
  "text, encoded": (bytes) => fill(bytes, () => "%41", "text="),
  "text, of plus signs": (bytes) => fill(bytes, () => "+", "text="),
  "text, of two bytes encoded": (bytes) => fill(bytes, () => "%C3%A4", "text="),
  separators: (bytes) => text(bytes, "&"),
  "many values": (bytes) => fill(bytes, (i) => `words=${i}`, "", "", "&"),
  "a thousand values": (bytes) =>
    Buffer.from(Array.from({ length: 1000 }, () => `words=${"x".repeat(bytes / 1000 - 8)}`).join("&")),
  "struct as JSON": (bytes) => Buffer.concat([Buffer.from("object="), KEYS(bytes - 7)]),
  "map as JSON": (bytes) => Buffer.concat([Buffer.from("labels="), object((i) => `"k${i}":""`)(bytes - 7)]),
  "message as JSON": (bytes) =>
    Buffer.concat([
      Buffer.from("inside="),
      member(
        "labels",
        object((i) => `"k${i}":""`),
      )(bytes - 7),
    ]),
  "integer of digits": (bytes) => Buffer.concat([Buffer.from("long="), digits(bytes - 5)]),
};

const FORM_JAVA: Readonly<Record<string, readonly [method: string, Make]>> = {
  "map as JSON": ["counts", (bytes) => Buffer.concat([Buffer.from("value="), object((i) => `${i}:${i}`)(bytes - 7)])],
  "list as JSON": [
    "longs",
    (bytes) => Buffer.concat([Buffer.from("value="), list(() => "9007199254740993")(bytes - 7)]),
  ],
  "objects as JSON": [
    "users",
    (bytes) =>
      Buffer.concat([
        Buffer.from("value="),
        part(
          list(() => "{}"),
          4,
        )(bytes - 7),
      ]),
  ],
  "digits of a decimal": ["decimal", (bytes) => Buffer.concat([Buffer.from("value="), digits(bytes - 7)])],
  object: ["any", (bytes) => Buffer.concat([Buffer.from("value="), KEYS(bytes - 7)])],
};

const HEAD = '--x\r\ncontent-disposition: form-data; name="';
const onePart =
  (name: string, type: string, make: Make): Make =>
  (bytes) =>
    Buffer.concat([
      Buffer.from(`${HEAD}${name}"\r\ncontent-type: ${type}\r\n\r\n`),
      make(bytes - 150),
      Buffer.from("\r\n--x--\r\n"),
    ]);
const JSON_TYPE = "application/json";
const FORM_TYPE = "application/x-www-form-urlencoded";

const MULTIPART: Readonly<Record<string, Make>> = {
  bytes: onePart("data", "application/octet-stream", text),
  "bytes like boundaries": onePart("data", "application/octet-stream", (bytes) => text(bytes, "\r\n--")),
  text: onePart("text", "text/plain", text),
  "text in GBK": onePart("text", "text/plain; charset=gbk", (bytes) => text(bytes, "a")),
  "text in ISO-8859-1": onePart("text", "text/plain; charset=iso-8859-1", text),
  "text in US-ASCII": onePart("text", "text/plain; charset=us-ascii", text),
  "text in windows-1252": onePart("text", "text/plain; charset=windows-1252", (bytes) => Buffer.alloc(bytes, 0x80)),
  "struct as JSON": onePart("object", JSON_TYPE, KEYS),
  "struct as text": onePart("object", "text/plain", KEYS),
  "message as JSON": onePart(
    "inside",
    JSON_TYPE,
    member(
      "labels",
      object((i) => `"k${i}":""`),
    ),
  ),
  "message as proto": onePart("inside", "application/proto", PROTO["map of integers"] as Make),
  "message as XML": onePart("inside", "application/xml", XML["text of entities"] as Make),
  "message as form": onePart("inside", FORM_TYPE, FORM["text, encoded"] as Make),
  "list as JSON": onePart(
    "words",
    JSON_TYPE,
    list(() => '"x"'),
  ),
  "messages as JSON": onePart(
    "wides",
    JSON_TYPE,
    part(
      list(() => "{}"),
      4,
    ),
  ),
  "map as form": onePart("labels", FORM_TYPE, (bytes) => fill(Math.min(bytes, 9000), (i) => `k${i}=x`, "", "", "&")),
  "128 parts": (bytes) =>
    fill(bytes, () => `${HEAD}words"\r\n\r\n${"x".repeat(bytes / 130 - 60)}\r\n`, "", "--x--\r\n"),
};

const MULTIPART_JAVA: Readonly<Record<string, readonly [method: string, Make]>> = {
  "objects of a key of their own, in 20 parts": [
    "anys",
    (bytes) =>
      fill(
        bytes,
        (i) =>
          `${HEAD}value"\r\ncontent-type: ${JSON_TYPE}\r\n\r\n${list((j) => `{"k${20_000 * i + j}":1}`)(bytes / 21)}\r\n`,
        "",
        "--x--\r\n",
      ),
  ],
  "map as JSON": [
    "counts",
    onePart(
      "value",
      JSON_TYPE,
      object((i) => `${i}:${i}`),
    ),
  ],
  "object as JSON": ["any", onePart("value", JSON_TYPE, KEYS)],
  "long numbers as text": [
    "longs",
    onePart(
      "value",
      "text/plain",
      list(() => "9007199254740993"),
    ),
  ],
  "boxed bytes": ["boxed", onePart("value", "application/octet-stream", text)],
  bytes: ["bytes", onePart("value", "application/octet-stream", text)],
  "objects as XML": [
    "users",
    onePart("value", "application/xml", (bytes) =>
      fill(Math.min(bytes, 120_000), () => "<a><name>x</name></a>", "<c>", "</c>"),
    ),
  ],
};

// Hessian 2: a list of any length is 0x57 value* 'Z', an untyped map 'H' (value value)* 'Z'.
const hList =
  (part: (index: number) => Uint8Array): Make =>
  (bytes) =>
    Buffer.concat([Buffer.from([0x57]), fill(bytes - 2, part), Buffer.from("Z")]);
const hMap =
  (part: (index: number) => Uint8Array): Make =>
  (bytes) =>
    Buffer.concat([Buffer.from("H"), fill(bytes - 2, part), Buffer.from("Z")]);
const hInt = (value: number): Buffer => {
  const bytes = Buffer.alloc(5, "I");
  bytes.writeInt32BE(value, 1);
  return bytes;
};
const hText = (value: string): Buffer => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
const hLongText = (bytes: number): Buffer => {
  const chunk = Buffer.concat([Buffer.from([0x52, 0xff, 0xff]), Buffer.alloc(0xffff, "x")]);
  return Buffer.concat([
    ...Array.from({ length: Math.floor((bytes - 10) / chunk.byteLength) }, () => chunk),
    Buffer.from([0]),
  ]);
};
const hLongBytes = (bytes: number): Buffer => {
  const chunk = Buffer.concat([Buffer.from([0x41, 0xff, 0xff]), Buffer.alloc(0xffff, "x")]);
  return Buffer.concat([
    ...Array.from({ length: Math.floor((bytes - 10) / chunk.byteLength) }, () => chunk),
    Buffer.from([0x20]),
  ]);
};
const most =
  (count: number, part: (index: number) => Uint8Array): ((index: number) => Uint8Array) =>
  (index) =>
    index < count ? part(index) : Buffer.alloc(10_000_000);
/** The class definition `com.acme.User` with its fields. */
const USER = Buffer.concat([
  Buffer.from("C"),
  hText("com.acme.User"),
  Buffer.from([0x94]),
  ...["friends", "id", "age", "name"].map(hText),
]);

const HESSIAN2: Readonly<Record<string, readonly [method: string, Make]>> = {
  "empty maps": ["any", hList(most(249_000, () => Buffer.from("HZ")))],
  "empty lists": ["any", hList(most(249_000, () => Buffer.from([0x78])))],
  "empty maps at the limit": ["any", hList(most(149_000, () => Buffer.from("HZ")))],
  "maps of an integer": ["any", hList(most(149_000, () => Buffer.from([0x48, 0x91, 0x91, 0x5a])))],
  "maps of a text": [
    "any",
    hList(most(149_000, (i) => Buffer.concat([Buffer.from("H"), hText(`k${i}`), Buffer.from([0x91, 0x5a])]))),
  ],
  "lists of an integer": ["any", hList(most(149_000, () => Buffer.from([0x79, 0x91])))],
  "sets of an integer": [
    "any",
    (bytes) =>
      Buffer.concat([
        Buffer.from([0x57, 0x71]),
        hText("java.util.HashSet"),
        Buffer.from([0x91]),
        fill(
          bytes - 40,
          most(148_000, () => Buffer.from([0x71, 0x90, 0x91])),
        ),
        Buffer.from("Z"),
      ]),
  ],
  "lists of an integer, and longs": [
    "any",
    (bytes) => {
      const lists = fill(
        bytes,
        most(140_000, () => Buffer.from([0x79, 0x91])),
      );
      const longs = fill(
        bytes,
        most(700_000, () => Buffer.from([0xe1])),
      );
      return Buffer.concat([Buffer.from([0x57]), lists, longs, Buffer.from("Z")]);
    },
  ],
  "small integers": ["any", hList(most(999_000, () => Buffer.from([0x90])))],
  integers: ["any", hList(hInt)],
  longs: ["longs", hList(most(999_000, () => Buffer.from([0xe1])))],
  texts: ["any", hList(most(999_000, (i) => hText(String.fromCharCode(97 + (i % 26)))))],
  text: ["text", hLongText],
  bytes: ["bytes", hLongBytes],
  "map of integers": ["counts", hMap(most(499_000, (i) => Buffer.concat([hInt(i), Buffer.from([0x90])])))],
  "map of texts": ["any", hMap(most(499_000, (i) => Buffer.concat([hText(`k${i}`), Buffer.from([0x90])])))],
  objects: [
    "users",
    (bytes) =>
      Buffer.concat([
        Buffer.from([0x57]),
        USER,
        fill(
          bytes - 100,
          most(199_000, () =>
            Buffer.concat([Buffer.from([0x60]), Buffer.from("N"), Buffer.from([0xe1, 0x91]), hText("x")]),
          ),
        ),
        Buffer.from("Z"),
      ]),
  ],
  "objects without fields": [
    "users",
    (bytes) =>
      Buffer.concat([
        Buffer.from([0x57]),
        Buffer.from("C"),
        hText("com.acme.User"),
        Buffer.from([0x90]),
        fill(
          bytes - 100,
          most(199_000, () => Buffer.from([0x60])),
        ),
        Buffer.from("Z"),
      ]),
  ],
  references: [
    "any",
    (bytes) =>
      Buffer.concat([
        Buffer.from([0x57]),
        Buffer.from("HZ"),
        fill(
          bytes - 10,
          most(900_000, () => Buffer.from([0x51, 0x91])),
        ),
        Buffer.from("Z"),
      ]),
  ],
  "set of texts": ["words", hList(most(499_000, (i) => hText(`${i}`)))],
  dates: ["dates", hList(most(999_000, () => Buffer.from([0x4b, 0, 0, 0, 1])))],
};

// MessagePack: an array of 32-bit length is 0xdd, a map 0xdf.
const mList =
  (part: (index: number) => Uint8Array, count = 990_000): Make =>
  (bytes) => {
    const parts: Uint8Array[] = [];
    let size = 5;
    for (let i = 0; i < count; i++) {
      const one = part(i);
      if (size + one.byteLength > bytes) break;
      parts.push(one);
      size += one.byteLength;
    }
    const head = Buffer.from([0xdd, 0, 0, 0, 0]);
    head.writeUInt32BE(parts.length, 1);
    return Buffer.concat([head, ...parts]);
  };
const mMap =
  (part: (index: number) => Uint8Array, count = 490_000): Make =>
  (bytes) => {
    const made = mList(part, count)(bytes) as Buffer;
    made[0] = 0xdf;
    return made;
  };
const mText = (value: string): Buffer => Buffer.concat([Buffer.from([0xa0 + value.length]), Buffer.from(value)]);
const mLong = (format: number, bytes: number): Buffer => {
  const head = Buffer.from([format, 0, 0, 0, 0]);
  head.writeUInt32BE(bytes - 5, 1);
  return Buffer.concat([head, Buffer.alloc(bytes - 5, "x")]);
};

const MSGPACK: Readonly<Record<string, readonly [method: string, Make]>> = {
  "empty maps": ["any", mList(() => Buffer.from([0x80]), 249_000)],
  "empty lists": ["any", mList(() => Buffer.from([0x90]), 249_000)],
  "lists of an integer": ["any", mList(() => Buffer.from([0x91, 1]), 490_000)],
  "lists of an integer at the limit": ["any", mList(() => Buffer.from([0x91, 1]), 149_000)],
  "small integers": ["any", mList(() => Buffer.from([1]))],
  "64-bit integers": ["longs", mList(() => Buffer.from([0xd3, 0, 0, 0, 0, 0, 0, 0, 1]))],
  texts: ["any", mList((i) => mText(String.fromCharCode(97 + (i % 26))))],
  text: ["text", (bytes) => mLong(0xdb, bytes)],
  "text of 3 bytes a character": [
    "text",
    (bytes) => {
      const made = mLong(0xdb, bytes - ((bytes - 5) % 3));
      Buffer.from("\u20ac".repeat((made.byteLength - 5) / 3)).copy(made, 5);
      return made;
    },
  ],
  bytes: ["bytes", (bytes) => mLong(0xc6, bytes)],
  "map of texts": ["any", mMap((i) => Buffer.concat([mText(`k${i}`), Buffer.from([1])]))],
  "map of integers": ["counts", mMap((i) => Buffer.concat([mText(`${i}`), Buffer.from([1])]))],
  objects: ["users", mList((i) => Buffer.concat([Buffer.from([0x81]), mText("name"), mText(`${i}`)]), 190_000)],
  "map of 64-bit integers": [
    "any",
    mMap((i) => Buffer.concat([mText(`${i * 7919}`), Buffer.from([0xd3, 0, 0, 0, 0, 0, 0, 0, 1])])),
  ],
  "maps of an integer key": [
    "any",
    mList((i) => Buffer.concat([Buffer.from([0x81]), mText(`${i % 9000}`), Buffer.from([1])]), 149_000),
  ],
  "maps of a key of their own": [
    "any",
    mList((i) => Buffer.concat([Buffer.from([0x81]), mText(`k${i}`), Buffer.from([1])]), 149_000),
  ],
  "empty maps at the limit": ["any", mList(() => Buffer.from([0x80]), 149_000)],
  dates: ["dates", mList(() => Buffer.from([0xd6, 0xff, 0, 0, 0, 1]))],
};

const TEXT: Readonly<Record<string, Make>> = { text, "text of 3 bytes a character": (bytes) => text(bytes, "\u20ac") };
const CHARSETS = ["utf-8", "us-ascii", "iso-8859-1", "windows-1252", "utf-16", "gbk", "shift_jis"];

const TAKE = "/bench.v1.CostlyService/Take";
const SAY = "/bench.v1.CostlyService/Say";

function envelope(message: Uint8Array, compressed = false): Uint8Array {
  const head = Buffer.from([compressed ? 1 : 0, 0, 0, 0, 0]);
  head.writeUInt32BE(message.byteLength, 1);
  return Buffer.concat([head, message]);
}

function all<T>(
  format: string,
  table: Readonly<Record<string, T>>,
  make: (value: T) => Omit<Attack, "format" | "name">,
): Attack[] {
  return Object.entries(table).map(([name, value]) => ({ format, name, ...make(value) }));
}

const http = (
  contentType: string,
  path: string,
  body: Make,
  more: Readonly<Record<string, string>> = {},
): Omit<Attack, "format" | "name"> => ({
  path,
  headers: { "content-type": contentType, ...more },
  body,
});
const grpc = (codec: string, body: Make, path = TAKE): Omit<Attack, "format" | "name"> =>
  http(`application/grpc+${codec}`, path, (bytes) => envelope(body(bytes - 5)), { te: "trailers" });
const java = (method: string): string => `/com.acme.Costly/${method}`;
const wrapped = (serializeType: string, method: string, make: Make): Omit<Attack, "format" | "name"> =>
  grpc(
    "proto",
    (bytes) => encodeWrapper({ serializeType, values: [make(bytes - 100)], types: ["java.lang.Object"] }),
    java(method),
  );
const argument =
  (make: Make): Make =>
  (bytes) =>
    Buffer.concat([Buffer.from("["), make(bytes - 2), Buffer.from("]")]);

const INFLATED: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
  gzip: (bytes) => zlib.gzipSync(bytes),
  deflate: (bytes) => zlib.deflateSync(bytes),
  br: (bytes) => zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }),
};

export const ATTACKS: readonly Attack[] = [
  ...all("proto, generated codec (B)", PROTO, (make) => grpc("proto", make)),
  ...all("proto, protobuf-es (A)", PROTO, (make) => http("application/proto", `${TAKE}Plain`, make)),
  ...all("JSON (A)", JSON_PROTO, (make) => http(JSON_TYPE, TAKE, make)),
  ...all("JSON (B)", JSON_PROTO, (make) => grpc("json", make)),
  ...all("form", FORM, (make) => http(FORM_TYPE, TAKE, make)),
  ...all("multipart", MULTIPART, (make) => http("multipart/form-data; boundary=x", TAKE, make)),
  ...all("XML", XML, (make) => http("application/xml", TAKE, make)),
  ...CHARSETS.flatMap((charset) =>
    all(`text in ${charset}`, TEXT, (make) => http(`text/plain; charset=${charset}`, SAY, make)),
  ),
  ...all("Java: JSON (A)", JSON_JAVA, ([method, make]) => http(JSON_TYPE, java(method), argument(make))),
  ...all("Java: JSON (B)", JSON_JAVA, ([method, make]) => wrapped("json", method, make)),
  ...all("Java: form", FORM_JAVA, ([method, make]) => http(FORM_TYPE, java(method), make)),
  ...all("Java: multipart", MULTIPART_JAVA, ([method, make]) =>
    http("multipart/form-data; boundary=x", java(method), make),
  ),
  ...all("Java: XML", XML_JAVA, ([method, make]) => http("application/xml", java(method), make)),
  ...all("Java: Hessian 2", HESSIAN2, ([method, make]) => wrapped("hessian4", method, make)),
  ...all("Java: MessagePack", MSGPACK, ([method, make]) => wrapped("msgpack", method, make)),
  ...all(
    "wrapper",
    {
      "unknown fields": repeated(() => int(30, 0)),
      "one name many times": repeated(() => field(1, "")),
      "long names": (bytes: number) => encodeWrapper({ serializeType: "x".repeat(bytes - 20), values: [], types: [] }),
    },
    (make) => grpc("proto", make, java("any")),
  ),
  ...all("inflated zeros", INFLATED, (compress) =>
    http("application/proto", TAKE, (bytes) => compress(Buffer.alloc(bytes)), {}),
  ),
  ...all("inflated text", INFLATED, (compress) =>
    http("application/proto", TAKE, (bytes) => compress(field(1, text(bytes - 8))), {}),
  ),
  ...all("gRPC-Web text", PROTO, (make) =>
    http("application/grpc-web-text+proto", TAKE, (bytes) =>
      Buffer.from(Buffer.from(envelope(make(bytes - 5))).toString("base64")),
    ),
  ).slice(0, 4),
  ...all("gRPC-Web text", { "padding after each byte": (bytes: number) => field(1, text(bytes - 8)) }, (make) =>
    http("application/grpc-web-text+proto", TAKE, (bytes) => {
      const runs = Array.from(envelope(make(bytes - 5)), (byte) => Buffer.of(byte).toString("base64"));
      return Buffer.from(runs.join(""));
    }),
  ),
].map((attack) =>
  attack.format.startsWith("inflated")
    ? { ...attack, headers: { ...attack.headers, "content-encoding": attack.name } }
    : attack,
);

/** The most costly bodies by format, as `decode` prints them. */
export const WORST: readonly string[] = [
  "proto, generated codec (B): map of texts",
  "proto, generated codec (B): empty texts",
  "proto, protobuf-es (A): packed 64-bit integers",
  "JSON (A): struct of many keys",
  "JSON (A): texts",
  "JSON (B): messages, a quarter",
  "form: struct as JSON",
  "multipart: struct as JSON",
  "XML: text of lines",
  "Java: JSON (A): map of integers",
  "Java: Hessian 2: objects",
  "Java: MessagePack: map of texts",
  "inflated zeros: br",
];
