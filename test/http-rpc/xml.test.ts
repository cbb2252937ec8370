import { create, type JsonValue, toJson } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AllParametersSchema } from "../../fixtures/gen/fixture/parameters/v1/parameters_pb.ts";
import { createBodyJson } from "../../runtime/src/codec/bounded-codec.ts";
import { type JsonValues, jsonCodec } from "../../runtime/src/codec/codec.ts";
import { decodeXml, loadXmlParser, parseXml } from "../../runtime/src/http-rpc/body/xml.ts";
import { encodeXml } from "../../runtime/src/http-rpc/body/xml-writer.ts";
import { routeParameters } from "../support/parameters.ts";

const send = routeParameters({ bodies: ["xml"] });
const AS_JSON = { accept: "application/json" };
async function decode(xml: string): Promise<JsonValue> {
  await loadXmlParser();
  const element = parseXml(new TextEncoder().encode(xml), undefined, 10_000);
  const json = createBodyJson(jsonCodec.values as JsonValues, undefined);
  return decodeXml(AllParametersSchema, element, json);
}

/** A message in JSON, and as the content of its XML. One row for each type of field. */
const MESSAGES: readonly (readonly [json: Record<string, unknown>, xml: string])[] = [
  [{}, ""],
  [{ fullName: "Ada" }, "<fullName>Ada</fullName>"],
  [{ fullName: "<&>\r\n\"'" }, "<fullName>&lt;&amp;&gt;&#13;\n\"'</fullName>"],
  [{ age: -1, big: "9007199254740993", ratio: 0.5 }, "<age>-1</age><big>9007199254740993</big><ratio>0.5</ratio>"],
  [{ ratio: "NaN", share: "-Infinity" }, "<ratio>NaN</ratio><share>-Infinity</share>"],
  [{ active: true }, "<active>true</active>"],
  [{ data: "aGk=" }, "<data>aGk=</data>"],
  [{ color: "COLOR_RED" }, "<color>COLOR_RED</color>"],
  [{ tags: ["a", "", "b"] }, "<tags>a</tags><tags/><tags>b</tags>"],
  [
    { counts: { a: 1, __proto__b: 2 } },
    "<counts><entry><key>a</key><value>1</value></entry><entry><key>__proto__b</key><value>2</value></entry></counts>",
  ],
  [{ child: {} }, "<child/>"],
  [{ child: { age: 1, child: { age: 2 } } }, "<child><age>1</age><child><age>2</age></child></child>"],
  [{ children: [{ age: 1 }, {}] }, "<children><age>1</age></children><children/>"],
  [{ byNumber: { 7: { age: 1 } } }, "<byNumber><entry><key>7</key><value><age>1</age></value></entry></byNumber>"],
  [
    { time: "2026-11-20T12:00:00Z", duration: "1.500s", mask: "fullName" },
    "<time>2026-11-20T12:00:00Z</time><duration>1.500s</duration><mask>fullName</mask>",
  ],
  [{ maybe: 0 }, "<maybe>0</maybe>"],
  [{ anything: { a: [1, null] }, value: "x" }, '<anything>{"a":[1,null]}</anything><value>"x"</value>'],
  [{ nickname: "" }, "<nickname/>"],
  [{ "odd name": "x" }, "<odd>x</odd>"],
];

const inRoot = (content: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>${content === "" ? "<allParameters/>" : `<allParameters>${content}</allParameters>`}`;

it("XML is parsed in steps to the same text at every place where a step ends", async () => {
  for (let shift = 0; shift < 8; shift += 1) {
    const text = "x".repeat(shift) + "<ä&\r\n😀".repeat(10_000);
    const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("\r", "&#13;");
    expect(await decode(`<a><fullName>${escaped}</fullName></a>`)).toEqual({ fullName: text });
  }
});

it("line ends of XML are line feeds at every place where a step ends", async () => {
  for (let shift = 0; shift < 4; shift += 1) {
    const text = "x".repeat(shift) + "\r\n\r\r\n".repeat(10_000);
    expect(await decode(`<a><fullName>${text}</fullName></a>`)).toEqual({
      fullName: "x".repeat(shift) + "\n\n\n".repeat(10_000),
    });
  }
});

describe("a message", () => {
  it.each(MESSAGES)("%j is written and read", async (json, content) => {
    const xml = inRoot(content);
    expect((await send("all", "application/json", JSON.stringify([json]), { accept: "application/xml" })).body).toBe(
      xml,
    );
    expect((await send("all", "application/xml", xml, AS_JSON)).body).toEqual(json);
    expect((await send("all", "application/xml", xml)).body).toBe(xml);
  });

  it.each([
    ["any root", "<x><age>1</age></x>", { age: 1 }],
    ["names of the proto file", "<x><full_name>Ada</full_name></x>", { fullName: "Ada" }],
    ["prefixes", '<p:x xmlns:p="urn:x"><p:age>1</p:age></p:x>', { age: 1 }],
    ["unknown elements", "<x><other><age>2</age></other><age>1</age></x>", { age: 1 }],
    [
      "comments, instructions and CDATA",
      "<!-- c --><x><?p i?><fullName>A<!-- c --><![CDATA[<d>]]>a</fullName></x>",
      { fullName: "A<d>a" },
    ],
    [
      "the five entities, and characters by number",
      "<x><fullName>&lt;&gt;&amp;&quot;&apos;&#65;&#x1F30D;</fullName></x>",
      { fullName: "<>&\"'A🌍" },
    ],
    [
      "space around values that are no strings",
      "<x>\n  <age> 1\n</age> <active>\ttrue</active>\n</x>",
      { age: 1, active: true },
    ],
    ["empty elements for what can be left out", "<x><age/><color></color><time/><child/></x>", { child: {} }],
    ["empty values of a map", "<x><counts/></x>", {}],
    ["attributes", '<x a="b"><age c="d">1</age></x>', { age: 1 }],
    [
      "a member of Object.prototype",
      "<x><__proto__>1</__proto__><constructor>2</constructor><age>3</age></x>",
      { age: 3 },
    ],
  ])("may have %s", async (_, xml, json) => {
    expect((await send("all", "text/xml", xml, AS_JSON)).body).toEqual(json);
  });

  it("is the text of the root if its only field is text", async () => {
    expect((await send("text", "application/xml", "<x>Ada</x>")).body).toBe(
      '<?xml version="1.0" encoding="UTF-8"?><stringValue>Ada</stringValue>',
    );
    expect((await send("text", "application/xml", "<x>Ada</x>", AS_JSON)).body).toBe("Ada");
  });

  it("may have any charset that the header, the bytes or the declaration name", async () => {
    const wide = (text: string) => Buffer.from(`\ufeff${text}`, "utf16le");
    const latin = (text: string) => Buffer.from(text, "latin1");
    const text = "<x><fullName>Grüße</fullName></x>";
    for (const [contentType, bytes] of [
      ["application/xml", Buffer.from(`\ufeff${text}`)],
      ["application/xml; charset=ISO-8859-1", latin(text)],
      ["application/xml", latin(`<?xml version="1.0" encoding='ISO-8859-1'?>${text}`)],
      ["application/xml", wide(text)],
      ["application/xml", wide(`<?xml version="1.0" encoding="UTF-16"?>${text}`)],
    ] as const) {
      expect((await send("all", contentType, bytes, AS_JSON)).body).toEqual({ fullName: "Grüße" });
    }
  });

  it("cannot be a response in XML with a character that XML does not allow", async () => {
    const errors: unknown[] = [];
    const hostile = routeParameters({}, { onError: (error) => errors.push(error) });
    const body = JSON.stringify([{ fullName: "a\0b" }]);
    expect(await hostile("all", "application/json", body, { accept: "application/xml" })).toMatchObject({
      status: 500,
      body: { status: 80, message: expect.stringContaining("U+0000") },
    });
    expect(errors).toEqual([]);
  });

  it("survives a round trip through XML", async () => {
    const text = fc
      .string({ unit: "binary" })
      .map((one) => one.replaceAll(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, ""));
    const message = fc.letrec((tie) => ({
      message: fc.record(
        {
          fullName: text,
          age: fc.integer(),
          ratio: fc.double(),
          active: fc.boolean(),
          data: fc.uint8Array(),
          tags: fc.array(text),
          numbers: fc.array(fc.integer()),
          counts: fc.dictionary(text, fc.integer()),
          child: fc.option(tie("message"), { nil: undefined, maxDepth: 3 }),
          children: fc.oneof({ maxDepth: 3 }, fc.constant([]), fc.array(tie("message"), { maxLength: 2 })),
        },
        { requiredKeys: [] },
      ),
    })).message;
    await fc.assert(
      fc.asyncProperty(message, async (init) => {
        const json = toJson(AllParametersSchema, create(AllParametersSchema, init as object));
        const xml = new TextDecoder().decode(encodeXml(AllParametersSchema, json));
        // An int32 is read as text that denotes the same number.
        expect(JSON.stringify(await decode(xml)).replaceAll('"', "")).toBe(JSON.stringify(json).replaceAll('"', ""));
      }),
    );
  });
});

describe("XML", () => {
  it.each([
    ["", "malformed"],
    ["text", "malformed"],
    ["<x>", "malformed"],
    ["<x></y>", "malformed"],
    ["<x/><y/>", "malformed"],
    ["<x a=1/>", "malformed"],
    ['<x a="1" a="2"/>', "malformed"],
    ["<x>\0</x>", "malformed"],
    ["<x>&nbsp;</x>", "malformed"],
    ["<x>&#0;</x>", "malformed"],
    ["<x><age>1</age><age>2</age></x>", 'element "age" is given more than once'],
    ["<x><age>a</age></x>", 'age: "a" is not a number'],
    ["<x><child><age>a</age></child></x>", 'child: age: "a" is not a number'],
    ["<x><color>BLUE</color></x>", '"BLUE" is not among: COLOR_UNSPECIFIED, COLOR_RED'],
    ["<x><fullName><b/></fullName></x>", 'element "b" stands where text is expected'],
    ["<x><counts><entry><key>a</key></entry></counts></x>", 'an entry of element "counts" has no key or no value'],
    [`${"<child>".repeat(101)}${"</child>".repeat(101)}`, "nested more than 100 levels"],
    [`<x>${"<a/>".repeat(10_000)}</x>`, "more than 10000 elements"],
  ])("%.60s is refused with the reason", async (xml, message) => {
    const answer = await send("all", "application/xml", xml);
    expect(answer).toMatchObject({ status: 400, body: { status: 25, message: expect.stringContaining(message) } });
  });

  it("in an unknown charset is unsupported media", async () => {
    expect((await send("all", "application/xml; charset=x", "<x/>")).status).toBe(415);
    expect((await send("all", "application/xml", '<?xml version="1.0" encoding="x"?><x/>')).status).toBe(415);
  });

  it("is decoded or refused", async () => {
    const piece = fc.constantFrom(
      "<",
      ">",
      "/",
      "<x>",
      "</x>",
      "<age>",
      "</age>",
      "1",
      "&",
      ";",
      "#",
      "<!",
      "[CDATA[",
      "]]>",
      "<?",
      "?>",
      '"',
      "=",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece), async (pieces) => {
        expect([200, 400]).toContain((await send("all", "application/xml", pieces.join(""))).status);
      }),
    );
  });
});

describe("an attack by entities", () => {
  const laughs = (levels: number, width: number): string =>
    Array.from({ length: levels }, (_, i) => `<!ENTITY e${i + 1} "${`&e${i};`.repeat(width)}">`).join("");
  const declared = [
    '<!ENTITY a "x">',
    '<!ENTITY a SYSTEM "file:///etc/passwd">',
    '<!ENTITY a SYSTEM "http://127.0.0.1/">',
    '<!ENTITY a PUBLIC "p" "file:///dev/zero">',
    '<!ENTITY % a SYSTEM "file:///etc/passwd"> %a;',
    `<!ENTITY e0 "lol">${laughs(9, 10)}`,
    `<!ENTITY e0 "${"x".repeat(50_000)}">${laughs(1, 50_000)}`,
    '<!ENTITY a "&b;"><!ENTITY b "&a;">',
    '<!ENTITY a "<b/>">',
    '<!ENTITY lt "x">',
    '<!ENTITY __proto__ "x">',
    '<!ENTITY a "&#x26;#x26;">',
    '<!ATTLIST x a CDATA "d">',
    "<!ELEMENT x ANY>",
    '<!NOTATION n SYSTEM "n">',
    "<!-- c --><?p i?>",
  ];
  const attacks: readonly (readonly [string, string])[] = [
    ...declared.map((dtd) => [dtd, `<!DOCTYPE x [${dtd}]><x><fullName>&a;&e9;</fullName></x>`] as const),
    ...[
      '<!DOCTYPE x SYSTEM "file:///etc/passwd">',
      '<!DOCTYPE x PUBLIC "-//x" "http://127.0.0.1/x.dtd">',
      "<!DOCTYPE x>",
      "<!DOCTYPE>",
      "<!doctype x>",
      "<!DOCTYPE x [",
      `<!DOCTYPE ${"x".repeat(100_000)}>`,
      `<!DOCTYPE x [${"<".repeat(100_000)}`,
      `<!DOCTYPE x [${'"'.repeat(100_001)}`,
      `<!DOCTYPE x [${"[".repeat(100_000)}`,
    ].map((start) => [start, `${start}<x/>`] as const),
    ...[
      "&a;",
      "&lol9;",
      "&__proto__;",
      "&constructor;",
      "&toString;",
      "&;",
      "&#;",
      "&#x;",
      "&#xFFFFFFFFFF;",
      "&#x110000;",
      "&#-1;",
      "&#xD800;",
      `&${"a".repeat(100_000)};`,
      `&#${"9".repeat(100_000)};`,
    ].map((text) => [text, `<x><fullName>${text}</fullName></x>`] as const),
  ];

  it("is tried in forty ways", () => {
    expect(attacks.length).toBe(40);
  });

  it.each(attacks)("%.60s is refused, and nothing expands", async (_, xml) => {
    const answer = await send("all", "application/xml", xml);
    expect(answer).toMatchObject({ status: 400, body: { status: 25 } });
    expect(JSON.stringify(answer.body).length).toBeLessThan(2_000);
  });

  it("is refused without reading its document type to the end", async () => {
    const endless = `<?xml version="1.0"?>\n<!-- <!DOCTYPE --><!DOCTYPE x [${"<".repeat(3_000_000)}`;
    expect(await send("all", "application/xml", endless)).toMatchObject({
      body: { message: expect.stringMatching(/has a document type, which is not allowed$/) },
    });
  });

  it.each([
    ["a comment", "<!-- <!DOCTYPE x> --><x><fullName>Ada</fullName></x>", "Ada"],
    ["an instruction", "<?p <!DOCTYPE x> ?><x><fullName>Ada</fullName></x>", "Ada"],
    ["a comment that seems to end early", "<!--><!DOCTYPE x>--><x><fullName>Ada</fullName></x>", "Ada"],
    ["CDATA", "<x><fullName><![CDATA[<!DOCTYPE x>]]></fullName></x>", "<!DOCTYPE x>"],
  ])("is not what %s looks like that has one in it", async (_, xml, fullName) => {
    expect((await send("all", "application/xml", xml, AS_JSON)).body).toEqual({ fullName });
  });

  it.each(["<x/><!DOCTYPE x>", "<x><!DOCTYPE y></x>"])("is malformed in any other place: %s", async (xml) => {
    expect(await send("all", "application/xml", xml)).toMatchObject({ status: 400, body: { status: 25 } });
  });

  it("costs no more than its length with many numeric character references", async () => {
    const text = "&#65;".repeat(100_000);
    expect((await send("all", "application/xml", `<x><fullName>${text}</fullName></x>`, AS_JSON)).body).toEqual({
      fullName: "A".repeat(100_000),
    });
  });
});

it("XML has at most as many elements as bodyLimits.elements", async () => {
  const few = routeParameters({}, { bodyLimits: { elements: 3 } });
  expect((await few("all", "application/xml", "<x><tags>a</tags><tags>b</tags></x>")).status).toBe(200);
  expect(await few("all", "application/xml", "<x><tags/><tags/><tags/></x>")).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining("the XML has more than 3 elements") },
  });
});
