import { create, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { type Codec, createRouter, jsonCodec, protoCodec, unimplemented, uploadOf } from "triple-es";
import { fetchHandler } from "triple-es/fetch";
import { describe, expect, it } from "vitest";
import { AllParametersSchema } from "../../fixtures/gen/fixture/parameters/v1/parameters_pb.ts";
import { ParametersServiceDef } from "../../fixtures/gen/fixture/parameters/v1/parameters_triple.ts";
import { loadMultipartParser, parseParts } from "../../runtime/src/http-rpc/body/multipart.ts";
import { joined } from "../support/greeter.ts";
import { routeParameters } from "../support/parameters.ts";

const send = routeParameters();
const BOUNDARY = "the-boundary";
const CONTENT_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

interface GivenPart {
  readonly name: string;
  readonly content: string | Uint8Array;
  readonly type?: string;
  readonly filename?: string;
}

const bytesOf = (text: string | Uint8Array): Uint8Array =>
  typeof text === "string" ? new TextEncoder().encode(text) : text;

/** Writes a body as a browser does. */
function multipart(...parts: GivenPart[]): Uint8Array {
  const written = parts.flatMap(({ name, content, type, filename }) => [
    bytesOf(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"`),
    bytesOf(filename === undefined ? "" : `; filename="${filename}"`),
    bytesOf(type === undefined ? "\r\n\r\n" : `\r\nContent-Type: ${type}\r\n\r\n`),
    bytesOf(content),
    bytesOf("\r\n"),
  ]);
  return joined(...written, bytesOf(`--${BOUNDARY}--\r\n`));
}

describe("the parts of a body", () => {
  it("are bound by name, and one of bytes is not decoded", async () => {
    const file = Uint8Array.of(0xff, 0x0d, 0x0a, 0x2d, 0x2d, 0x00);
    const body = multipart(
      { name: "content", content: file, type: "image/png", filename: "a.png" },
      { name: "name", content: "Grüße" },
      { name: "other", content: "ignored" },
    );
    expect((await send("file", CONTENT_TYPE, body)).body).toEqual({
      name: "Grüße",
      content: Buffer.from(file).toString("base64"),
    });
  });

  it("are bound by position if no name matches", async () => {
    const body = multipart({ name: "a", content: "Ada" }, { name: "b", content: "hi", type: "application/json" });
    expect((await send("file", CONTENT_TYPE, body)).body).toEqual({ name: "Ada", content: "aGk=" });
    const three = multipart(...["a", "b", "c"].map((name) => ({ name, content: name })));
    expect(await send("file", CONTENT_TYPE, three)).toMatchObject({ status: 400, body: { status: 40 } });
  });

  it("are each decoded by their own content type", async () => {
    const child = create(AllParametersSchema, { age: 3 });
    const body = multipart(
      { name: "fullName", content: Uint8Array.of(0x47, 0xfc), type: "text/plain; charset=ISO-8859-1" },
      { name: "age", content: "36" },
      { name: "tags", content: '"a"', type: "application/json" },
      { name: "tags", content: "b", type: "TEXT/PLAIN" },
      { name: "child", content: toBinary(AllParametersSchema, child), type: "application/x-protobuf" },
      { name: "children", content: '{"age":1}', type: "application/json; charset=utf-8" },
      { name: "children", content: "<x><age>2</age></x>", type: "application/xml" },
      { name: "children", content: '{"age":3}' },
      { name: "counts", content: '{"a":1}', type: "application/json" },
      { name: "files", content: "x", type: "application/octet-stream" },
      { name: "files", content: "y" },
      { name: "right", content: "z" },
    );
    expect(await send("all", CONTENT_TYPE, body)).toMatchObject({
      status: 200,
      body: {
        fullName: "Gü",
        age: 36,
        tags: ["a", "b"],
        child: { age: 3 },
        children: [{ age: 1 }, { age: 2 }, { age: 3 }],
        counts: { a: 1 },
        files: ["eA==", "eQ=="],
        right: "eg==",
      },
    });
  });

  it("in XML set numbers, text, lists and maps", async () => {
    const entries = "<entry><key>a</key><value>1</value></entry><entry><key>b</key><value>2</value></entry>";
    const body = multipart(
      { name: "fullName", content: "<x>A &amp; B</x>", type: "text/xml" },
      { name: "age", content: "<?xml version='1.0'?><age> 36 </age>", type: "application/xml" },
      { name: "tags", content: "<x><item>a</item><item>b</item></x>", type: "text/xml" },
      { name: "tags", content: "<x>c</x>", type: "text/xml" },
      { name: "numbers", content: "<x/>", type: "text/xml" },
      { name: "counts", content: `<x>${entries}</x>`, type: "application/xml" },
    );
    expect((await send("all", CONTENT_TYPE, body)).body).toEqual({
      fullName: "A & B",
      age: 36,
      tags: ["a", "b", "c"],
      counts: { a: 1, b: 2 },
    });
  });

  it("fill a list with an array in JSON, in addition to other parts with its name", async () => {
    const body = multipart(
      { name: "tags", content: '["a","b"]', type: "application/json" },
      { name: "tags", content: "c" },
      { name: "tags", content: '["d"]', type: "Application/JSON; charset=utf-8" },
      { name: "numbers", content: "[]", type: "application/json" },
      { name: "children", content: '[{"age":1},{"age":2}]', type: "application/json" },
      { name: "value", content: '["whole"]', type: "application/json" },
    );
    expect((await send("all", CONTENT_TYPE, body)).body).toEqual({
      tags: ["a", "b", "c", "d"],
      children: [{ age: 1 }, { age: 2 }],
      value: ["whole"],
    });
  });

  it.each<[string, GivenPart[], number, number, string]>([
    ["a list that a field is not", [{ name: "age", content: "[1]", type: "application/json" }], 400, 25, "age"],
    ["a list with a wrong item", [{ name: "numbers", content: '["x"]', type: "application/json" }], 400, 25, "numbers"],
    [
      "a type that its field cannot be",
      [{ name: "age", content: "x", type: "image/png" }],
      415,
      40,
      "text/plain, application/json",
    ],
    ["a message for a number", [{ name: "age", content: "x", type: "application/proto" }], 415, 40, 'part "age"'],
    ["a message for a map", [{ name: "counts", content: "x", type: "application/proto" }], 415, 40, 'part "counts"'],
    [
      "a form for a number",
      [{ name: "age", content: "a=1", type: "application/x-www-form-urlencoded" }],
      415,
      40,
      'part "age"',
    ],
    ["malformed XML", [{ name: "age", content: "<x>1", type: "text/xml" }], 400, 25, "XML"],
    ["XML with a wrong number", [{ name: "age", content: "<x>one</x>", type: "text/xml" }], 400, 25, "one"],
    ["XML with elements for a number", [{ name: "age", content: "<x><y>1</y></x>", type: "text/xml" }], 400, 25, '"y"'],
    [
      "XML without a key",
      [{ name: "counts", content: "<x><e><value>1</value></e></x>", type: "text/xml" }],
      400,
      25,
      "no key",
    ],
    ["a malformed type", [{ name: "age", content: "1", type: "text" }], 400, 40, "malformed content type"],
    [
      "JSON in another charset",
      [{ name: "age", content: "1", type: "application/json; charset=iso-8859-1" }],
      415,
      40,
      "must be UTF-8",
    ],
    ["an unknown charset", [{ name: "age", content: "1", type: "text/plain; charset=x" }], 415, 40, 'charset "x"'],
    ["malformed JSON", [{ name: "child", content: "{", type: "application/json" }], 400, 25, 'part "child": '],
    ["malformed proto", [{ name: "child", content: "{", type: "application/proto" }], 400, 25, "cannot be decoded"],
    ["malformed XML", [{ name: "child", content: "<", type: "application/xml" }], 400, 25, "XML"],
    ["an invalid number", [{ name: "age", content: "x" }], 400, 25, '"x" is not a number'],
    [
      "one value twice",
      [
        { name: "age", content: "1" },
        { name: "age", content: "2" },
      ],
      400,
      40,
      "more than once",
    ],
    [
      "bytes twice",
      [
        { name: "data", content: "1" },
        { name: "data", content: "2" },
      ],
      400,
      40,
      "more than once",
    ],
  ])("with %s are refused with the reason", async (_, parts, status, errorStatus, message) => {
    const answer = await send("all", CONTENT_TYPE, multipart(...parts));
    expect(answer).toMatchObject({ status, body: { status: errorStatus, message: expect.stringContaining(message) } });
  });

  it("are at most as many as bodyLimits.parts", async () => {
    const few = routeParameters({}, { bodyLimits: { parts: 2 } });
    const tags = (count: number) => multipart(...Array.from({ length: count }, () => ({ name: "tags", content: "a" })));
    expect((await few("all", CONTENT_TYPE, tags(2))).status).toBe(200);
    expect(await few("all", CONTENT_TYPE, tags(3))).toMatchObject({
      status: 400,
      body: { message: "the body has more than the limit of 2 parts" },
    });
  });

  it("are at most 128 by default", async () => {
    const parts = (count: number) =>
      multipart(...Array.from({ length: count }, () => ({ name: "tags", content: "a" })));
    expect((await send("all", CONTENT_TYPE, parts(128))).status).toBe(200);
    expect(await send("all", CONTENT_TYPE, parts(129))).toMatchObject({
      status: 400,
      body: { status: 40, message: "the body has more than the limit of 128 parts" },
    });
  });

  it("are not decoded for bytes, whether boxed, optional, repeated or the only parameter", async () => {
    const file = Uint8Array.of(0xff, 0x00, 0x0d, 0x0a);
    const base64 = Buffer.from(file).toString("base64");
    const image = { content: file, type: "image/png" };
    const names = ["data", "right", "maybeData", "boxed", "boxes", "boxes", "files", "files"];
    const body = multipart(...names.map((name) => ({ name, ...image })), { name: "boxes", content: "hi" });
    expect((await send("all", CONTENT_TYPE, body)).body).toEqual({
      data: base64,
      right: base64,
      maybeData: base64,
      boxed: base64,
      boxes: [base64, base64, "aGk="],
      files: [base64, base64],
    });
    for (const name of ["value", "anything"]) {
      expect((await send("bytes", CONTENT_TYPE, multipart({ name, ...image }))).body).toBe(base64);
    }
    const odd = { content: file, type: "bogus;;;" };
    expect((await send("all", CONTENT_TYPE, multipart({ name: "boxed", ...odd }))).body).toEqual({ boxed: base64 });
    expect(await send("all", CONTENT_TYPE, multipart({ name: "name", ...odd }))).toMatchObject({
      status: 400,
      body: { message: 'part "name" has a malformed content type' },
    });
    const two = multipart({ name: "a", ...image }, { name: "b", ...image });
    expect((await send("bytes", CONTENT_TYPE, two)).status).toBe(400);
  });

  it("may have every content type that the server has a codec or a format for", async () => {
    const base64Codec: Codec = {
      name: "x-proto-text",
      encode: (type, message) => Buffer.from(Buffer.from(protoCodec.encode(type, message)).toString("base64")),
      decode: (type, bytes) => protoCodec.decode(type, Buffer.from(Buffer.from(bytes).toString(), "base64")),
    };
    const relaxedJson: Codec = { ...jsonCodec, name: "vnd.acme+json" };
    const sendOwn = routeParameters({}, { codecs: [protoCodec, jsonCodec, base64Codec, relaxedJson] });
    const child = (age: number) => toBinary(AllParametersSchema, create(AllParametersSchema, { age }));
    const parts: GivenPart[] = [
      { name: "children", content: child(1), type: "application/proto" },
      { name: "children", content: child(2), type: "application/protobuf" },
      { name: "children", content: Buffer.from(child(3)).toString("base64"), type: "application/x-proto-text" },
      { name: "children", content: '[{"age":4},{"age":5}]', type: "application/vnd.acme+json" },
      { name: "children", content: "age=6&tags=a&tags=b", type: "application/x-www-form-urlencoded" },
      { name: "children", content: "<x><age>7</age></x>", type: "text/xml" },
      { name: "children", content: Buffer.from("\ufeff<x><age>8</age></x>", "utf16le"), type: "application/xml" },
      { name: "children", content: '{"age":9}', type: "text/plain" },
      { name: "counts", content: "a=1&b=2", type: "application/x-www-form-urlencoded" },
      { name: "fullName", content: Buffer.from("Löwe", "utf16le"), type: "text/plain; charset=utf-16le" },
      { name: "age", content: "36", type: "application/vnd.acme+json" },
    ];
    const image = { name: "anything", content: "<x/>", type: "image/svg+xml" };
    const refused = await sendOwn("all", CONTENT_TYPE, multipart(image));
    expect(refused).toMatchObject({ status: 415, body: { message: expect.stringContaining('"anything"') } });
    for (const type of ["application/x-proto-text", "application/x-www-form-urlencoded", "text/xml"]) {
      expect(refused.body).toMatchObject({ message: expect.stringContaining(type) });
    }
    expect((await sendOwn("all", CONTENT_TYPE, multipart(...parts))).body).toEqual({
      fullName: "Löwe",
      age: 36,
      counts: { a: 1, b: 2 },
      children: [1, 2, 3, 4, 5]
        .map((age): object => ({ age }))
        .concat([{ age: 6, tags: ["a", "b"] }, { age: 7 }, { age: 8 }, { age: 9 }]),
    });
  });

  it("have no more values than one message, over all codecs", async () => {
    const many = create(AllParametersSchema, { children: Array.from({ length: 10_000 }, () => ({})) });
    const bytes = toBinary(AllParametersSchema, many);
    const bounded = routeParameters({}, { maxMessageValues: 100_000 });
    const part = { name: "children", content: bytes, type: "application/proto" };
    expect((await send("all", CONTENT_TYPE, multipart({ ...part, name: "child" }))).status).toBe(200);
    expect((await bounded("all", CONTENT_TYPE, multipart(part, part, part))).status).toBe(413);
  });

  it("must not be empty", async () => {
    expect(await send("all", CONTENT_TYPE, multipart())).toMatchObject({
      status: 400,
      body: { status: 40, message: "the body has no parts; a multipart body has at least one" },
    });
    const sent = await send("all", CONTENT_TYPE, `preamble\r\n--${BOUNDARY}--\r\nepilogue`);
    expect(sent).toMatchObject({ status: 400, body: { status: 40 } });
  });

  it("may have any preamble and epilogue", async () => {
    const body = joined(
      bytesOf("preamble\r\n"),
      multipart({ name: "age", content: "1" }),
      bytesOf("epilogue: \0\r\n\r\n"),
    );
    expect((await send("all", CONTENT_TYPE, body)).body).toEqual({ age: 1 });
  });

  const part = (headers: string) => `--${BOUNDARY}\r\n${headers}\r\n\r\n1\r\n--${BOUNDARY}--\r\n`;
  it.each([
    ["no body", ""],
    ["no boundary", "hello"],
    ["another boundary", "--other\r\nContent-Disposition: form-data; name=age\r\n\r\n1\r\n--other--\r\n"],
    ["no end", `--${BOUNDARY}\r\nContent-Disposition: form-data; name=age\r\n\r\n1\r\n`],
    ["half a boundary", `--${BOUNDARY}\r\nContent-Disposition: form-data; name=age\r\n\r\n1\r\n--${BOUNDARY}`],
    ["no end of headers", `--${BOUNDARY}\r\nContent-Disposition: form-data; name=age`],
    ["headers that do not end", `--${BOUNDARY}\r\nContent-Disposition: form-data; name=age\r\n--${BOUNDARY}--\r\n`],
    [
      "headers that do not end in its second part",
      `${part("Content-Disposition: form-data; name=tags").replace(/--\r\n$/, "\r\n")}a: b\r\n--${BOUNDARY}--\r\n`,
    ],
    [
      "a boundary where the content begins",
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name=tags\r\n\r\n--${BOUNDARY}--\r\n`,
    ],
    ["no headers", `--${BOUNDARY}\r\n\r\n1\r\n--${BOUNDARY}--\r\n`],
    ["no name", part("Content-Disposition: form-data")],
    ["no disposition", part("Content-Type: text/plain")],
    ["another disposition", part('Content-Disposition: attachment; name="age"')],
    ["a broken header", part('Content-Disposition: form-data; name="age"\r\nbad header')],
    [
      "two content types",
      part('Content-Disposition: form-data; name="age"\r\nContent-Type: text/plain\r\nContent-Type: text/html'),
    ],
    ["a broken file name", part("Content-Disposition: form-data; name=age; filename*=UTF-8''%zz")],
  ])("in a body with %s are refused", async (_, body) => {
    const answer = await send("all", CONTENT_TYPE, body);
    expect(answer).toMatchObject({
      status: 400,
      body: { status: expect.toSatisfy((one) => one === 40 || one === 25) },
    });
  });

  it.each([
    ["x".repeat(17_000), "they are larger than the limit of 16 KiB"],
    [Array.from({ length: 102 }, () => "a: b").join("\r\n"), "they are more than the limit of 100"],
    ["bad header: x", "a name is empty or has a character that no name may have"],
    [": x", "a name is empty or has a character that no name may have"],
    ["a: \0", "a value has a character that no value may have"],
  ])("are refused with a description of the invalid header", async (headers, problem) => {
    expect(await send("all", CONTENT_TYPE, part(headers))).toMatchObject({
      status: 400,
      body: { status: 40, message: `a part of the body has malformed headers: ${problem}` },
    });
  });

  it.each([
    "",
    "; boundary=",
    '; boundary="a b "',
    `; boundary=${"x".repeat(71)}`,
    '; boundary="a\r"',
    '; boundary="ü"',
  ])("need a boundary: %j is invalid", async (parameters) => {
    const answer = await send("all", `multipart/form-data${parameters}`, multipart());
    expect([answer.status, answer.status === 415 ? 40 : (answer.body as { status: number }).status]).toSatisfy(
      ([status, error]) => (status === 400 || status === 415) && error === 40,
    );
  });

  it("are over the limit when the whole body is", async () => {
    const limited = routeParameters({}, { maxMessageBytes: 200 });
    const body = multipart({ name: "content", content: "x".repeat(200) });
    expect((await limited("file", CONTENT_TYPE, body)).status).toBe(413);
  });
});

describe("the file name and the content type of a part", () => {
  /** Uploads parts to a method, and returns what its handler knows about the bytes. */
  async function upload(...parts: GivenPart[]): Promise<unknown> {
    let seen: unknown;
    const router = createRouter().add(ParametersServiceDef, {
      map: (_, context) => unimplemented(context),
      struct: (_, context) => unimplemented(context),
      text: (_, context) => unimplemented(context),
      bytes: (_, context) => unimplemented(context),
      file: ({ name, content }) => {
        seen = [name, Buffer.from(content).toString(), uploadOf(content)];
        return {};
      },
      all: ({ files, boxed }) => {
        seen = [...files, ...(boxed === undefined ? [] : [boxed])].map(uploadOf);
        return {};
      },
    });
    const method = parts.some(({ name }) => name === "files") ? "All" : "File";
    const response = await fetchHandler(router)(
      new Request(`http://localhost/fixture.parameters.v1.ParametersService/${method}`, {
        method: "POST",
        headers: { "content-type": CONTENT_TYPE },
        body: multipart(...parts) as Uint8Array<ArrayBuffer>,
      }),
    );
    expect(response.status, await response.text()).toBe(200);
    return seen;
  }

  it("reach the handler with the bytes", async () => {
    const png = { name: "content", content: "PNG", type: "image/png", filename: "a b.png" };
    const known = { fileName: "a b.png", contentType: "image/png" };
    expect(await upload({ name: "name", content: "Ada" }, png)).toEqual(["Ada", "PNG", known]);
  });

  it.each(["日本.png", "Lo\u0308we.png", "😀.png", 'a\\"日'])("may have any characters: %s", async (filename) => {
    const png = { name: "content", content: "PNG", type: "image/png", filename };
    const known = { fileName: filename, contentType: "image/png" };
    expect(await upload({ name: "name", content: "Ada" }, png)).toEqual(["Ada", "PNG", known]);
  });

  it("are undefined if the client does not give them", async () => {
    const known = { fileName: undefined, contentType: undefined };
    expect(await upload({ name: "content", content: "plain" })).toEqual(["", "plain", known]);
  });

  it("belong to each part, also of equal, empty and boxed bytes", async () => {
    const file = (name: string, content: string) => ({ name: "files", content, type: `text/${name}`, filename: name });
    const known = (name: string) => ({ fileName: name, contentType: `text/${name}` });
    const boxed = { name: "boxed", content: "x", type: "text/c", filename: "c" };
    expect(await upload(file("a", ""), file("b", ""), file("d", "x"), boxed)).toEqual(["a", "b", "d", "c"].map(known));
  });

  it("are those of large parts too", async () => {
    const content = "x".repeat(300_000);
    const [, received, known] = (await upload({ name: "content", content, filename: "large.txt" })) as unknown[];
    expect([received === content, known]).toEqual([true, { fileName: "large.txt", contentType: undefined }]);
  });

  it("are unknown for bytes that were not a part", () => {
    expect(uploadOf(Uint8Array.of(1))).toBeUndefined();
  });
});

describe("any body", () => {
  it("is read as the parts that were written, for any division into chunks", async () => {
    // No line of a part may start with the boundary (RFC 2046, section 5.1).
    const hasDelimiter = (bytes: Uint8Array) =>
      `\r\n${new TextDecoder("latin1").decode(bytes)}`.includes(`\r\n--${BOUNDARY}`);
    const name = fc.stringMatching(/^[a-zA-Z0-9_.-]{1,10}$/);
    // Texts that a parser may mistake for the end of a part.
    const content = fc.oneof(
      fc.uint8Array({ maxLength: 100 }),
      fc
        .array(fc.constantFrom("\r", "\n", "\r\n", "--", "-", BOUNDARY, `\r\n--${BOUNDARY.slice(0, -1)}`, "x"))
        .map((texts) => bytesOf(texts.join(""))),
    );
    const parts = fc.array(
      fc.record({
        name,
        content: content.filter((bytes) => !hasDelimiter(bytes)),
        type: fc.constant("application/octet-stream"),
      }),
      { minLength: 1, maxLength: 5 },
    );
    await fc.assert(
      fc.asyncProperty(parts, async (given) => {
        await loadMultipartParser();
        const parsed = parseParts(multipart(...given), BOUNDARY, 128);
        expect(parsed.map((one) => [one.name, [...one.value.bytes]])).toEqual(
          given.map((one) => [one.name, [...one.content]]),
        );
      }),
    );
  });

  it("arrives complete if it is cut at every byte", async () => {
    const body = multipart({ name: "name", content: "Ada" }, { name: "content", content: `\r\n--${BOUNDARY}x` });
    const expected = (await send("file", CONTENT_TYPE, body)).body;
    for (let cut = 0; cut <= body.length; cut += 1) {
      const answer = await send("file", CONTENT_TYPE, [body.subarray(0, cut), body.subarray(cut)]);
      expect(answer.body).toEqual(expected);
    }
    const single = Array.from(body, (byte) => Uint8Array.of(byte));
    expect((await send("file", CONTENT_TYPE, single)).body).toEqual(expected);
  });

  it("that is cut short is refused", async () => {
    const body = multipart({ name: "name", content: "Ada" }, { name: "content", content: "x" });
    for (let length = 0; length < body.length - "\r\n".length; length += 1) {
      expect((await send("file", CONTENT_TYPE, body.subarray(0, length))).status, `${length} bytes`).toBe(400);
    }
  });

  it("is decoded or refused", async () => {
    const piece = fc.constantFrom(
      `--${BOUNDARY}`,
      "\r\n",
      "--",
      "content-disposition: form-data; name=age",
      ":",
      ";",
      "1",
      "\0",
      "é",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece), async (pieces) => {
        expect([200, 400]).toContain((await send("all", CONTENT_TYPE, pieces.join(""))).status);
      }),
    );
  });
});
