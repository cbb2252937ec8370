/**
 * The status of a call in sub-protocol B, in both directions.
 */
import { create, toBinary } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { anyPack } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { Code, findDetails, Metadata, RpcError } from "triple-es";
import { describe, expect, it } from "vitest";
import { GreetRequestSchema } from "../../examples/gen/greet/v1/greet_pb.ts";
import { StatusSchema } from "../../runtime/src/gen/google/rpc/status_pb.ts";
import {
  httpStatusError,
  okTrailers,
  percentDecode,
  percentEncode,
  readError,
  userMetadata,
  writeError,
} from "../../runtime/src/grpc/status.ts";
import { type Fields, toMetadata } from "../support/greeter.ts";

const LIMITS = { fields: 100, bytes: 16 * 1024 };

const read = (trailers: Fields): RpcError | undefined => readError(toMetadata(trailers), new Metadata());

/** Writes an error and reads it again. */
function travelled(error: RpcError): RpcError {
  const trailers = new Metadata();
  writeError(trailers, error, LIMITS);
  return readError(trailers, new Metadata()) as RpcError;
}

describe("percent encoding", () => {
  it("keeps space to tilde but the percent sign, and writes the rest as upper-case bytes of UTF-8", () => {
    const kept = Array.from({ length: 0x7f - 0x20 }, (_, i) => String.fromCharCode(0x20 + i)).join("");
    expect(percentEncode(`a${kept}`)).toBe(`a${kept.replace("%", "%25")}`);
    expect(percentEncode("ä\n\r\t\0\x7f")).toBe("%C3%A4%0A%0D%09%00%7F");
    expect(percentEncode("😀")).toBe("%F0%9F%98%80");
    expect(percentEncode("")).toBe("");
  });

  it("writes a space at either end as bytes, because HTTP takes it away or refuses the field", () => {
    expect(percentEncode(" a b ")).toBe("%20a b%20");
    expect(percentEncode(" ")).toBe("%20");
  });

  it("survives a round trip, for all of Unicode", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const encoded = percentEncode(text);
        expect(encoded).toMatch(/^(?:[ -$&-~]|%[0-9A-F]{2})*$/);
        expect(percentDecode(encoded)).toBe(text);
      }),
      { numRuns: 1000 },
    );
    for (const text of ["\uFEFF", "\uFEFFabc", "a\uFEFF", "%\uFEFF%", "\uFFFD", "\u0000"]) {
      expect(percentDecode(percentEncode(text))).toBe(text);
    }
  });

  it("is decoded for any text", () => {
    const pieces = fc.constantFrom("%", "%2", "%25", "%zz", "%FF", "%c3%a4", "%C3", "a", "ä", "+", "\n", "%%");
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: "binary" }),
          fc.array(pieces).map((all) => all.join("")),
        ),
        (text) => {
          expect(percentDecode(text)).toBeTypeOf("string");
        },
      ),
    );
  });

  it.each([
    ["100%", "100%"],
    ["%", "%"],
    ["%zz", "%zz"],
    ["%4", "%4"],
    ["a+b", "a+b"],
    ["%c3%a4", "ä"],
    ["größe", "größe"],
    ["50% of ä is %C3%A4", "50% of ä is ä"],
    ["%FF", "\uFFFD"],
  ])("%j is decoded as %j", (text, expected) => {
    expect(percentDecode(text)).toBe(expected);
  });
});

describe("grpc-status", () => {
  it("0 is success, regardless of the other trailers", () => {
    expect(read({ "grpc-status": "0" })).toBeUndefined();
    expect(read({ "grpc-status": "0", "grpc-message": "fine", other: "1" })).toBeUndefined();
  });

  it.each(Object.values(Code))("%i is that code", (code) => {
    expect(read({ "grpc-status": String(code), "grpc-message": "why" })).toMatchObject({ code, rawMessage: "why" });
  });

  it.each(["17", "99", "abc", "", "-1", "1.5", " 5", "00", "0x5", "1000000000000000000000", "5, 5"])(
    "%j is unknown, and shown",
    (status) => {
      const error = read({ "grpc-status": status, "grpc-message": "why" });
      expect(error?.code).toBe(Code.Unknown);
      expect(error?.rawMessage).toBe(`why (the server sent grpc-status ${status})`);
    },
  );

  it("is an internal error if it is missing", () => {
    expect(read({})).toMatchObject({ code: Code.Internal });
    expect(read({ "grpc-message": "why" })).toMatchObject({ code: Code.Internal });
  });

  it("may have no message", () => {
    expect(read({ "grpc-status": "5" })?.rawMessage).toBe("");
  });

  it("is read without an exception for any trailers", () => {
    const names = fc.constantFrom("grpc-status", "grpc-message", "grpc-status-details-bin", "x", "x-bin");
    fc.assert(
      fc.property(fc.dictionary(names, fc.string({ unit: "binary" })), (trailers) => {
        const error = read(trailers);
        expect(error === undefined).toBe(trailers["grpc-status"] === "0");
      }),
    );
  });
});

describe("an error", () => {
  const detail = anyPack(GreetRequestSchema, create(GreetRequestSchema, { name: "Ada" }));

  it("survives a round trip with code, message, details and metadata", () => {
    const metadata = { why: "early", "trace-bin": Uint8Array.of(1, 2) };
    const error = travelled(new RpcError(Code.Aborted, "größer\n100%", { details: [detail], trailers: metadata }));
    expect([error.code, error.rawMessage]).toEqual([Code.Aborted, "größer\n100%"]);
    expect(findDetails(error, GreetRequestSchema)).toMatchObject([{ name: "Ada" }]);
    expect([...error.trailers]).toEqual([
      ["why", "early"],
      ["trace-bin", "AQI"],
    ]);
  });

  it("without message and details writes the status alone", () => {
    const trailers = new Metadata();
    writeError(trailers, new RpcError(Code.Aborted, ""), LIMITS);
    expect([...trailers]).toEqual([["grpc-status", "10"]]);
  });

  it("does not pass on what belongs to a call further on", () => {
    const metadata = toMetadata({ "grpc-status": "0", "grpc-message": "x", "content-type": "text/html", own: "1" });
    const trailers = new Metadata();
    writeError(trailers, new RpcError(Code.Aborted, "", { trailers: metadata }), LIMITS);
    expect([...trailers]).toEqual([
      ["grpc-status", "10"],
      ["own", "1"],
    ]);
  });

  it.each<[string, string]>([
    ["no base64", "*"],
    ["no google.rpc.Status", base64Encode(Uint8Array.of(0xff, 0xff))],
    ["empty", ""],
  ])("has no details if they are %s, and keeps its message", (_what, value) => {
    const error = read({ "grpc-status": "10", "grpc-message": "why", "grpc-status-details-bin": value });
    expect(error).toMatchObject({ code: Code.Aborted, rawMessage: "why", details: [] });
  });

  it.each(["std", "std_raw"] as const)("has details in base64 of the kind %s", (kind) => {
    const status = create(StatusSchema, { code: 10, details: [detail] });
    const value = base64Encode(toBinary(StatusSchema, status), kind);
    const error = read({ "grpc-status": "10", "grpc-status-details-bin": value }) as RpcError;
    expect(findDetails(error, GreetRequestSchema)).toHaveLength(1);
  });
});

// gRPC's table, which differs from that of sub-protocol A.
describe("an HTTP status without grpc-status", () => {
  it.each([
    [400, Code.Internal],
    [401, Code.Unauthenticated],
    [403, Code.PermissionDenied],
    [404, Code.Unimplemented],
    [429, Code.Unavailable],
    [502, Code.Unavailable],
    [503, Code.Unavailable],
    [504, Code.Unavailable],
    [431, Code.Unknown],
    [200, Code.Unknown],
    [408, Code.Unknown],
    [409, Code.Unknown],
    [412, Code.Unknown],
    [413, Code.Unknown],
    [415, Code.Unknown],
    [500, Code.Unknown],
  ])("%i is code %i", (http, code) => {
    expect(httpStatusError(http, "text/html")).toMatchObject({ code, rawMessage: expect.stringContaining(`${http}`) });
  });
});

describe("trailers of a success", () => {
  it("are the status and the user's metadata", () => {
    expect([...okTrailers(new Metadata(), LIMITS)]).toEqual([["grpc-status", "0"]]);
    expect([...okTrailers(new Metadata({ trail: "1" }), LIMITS)]).toEqual([
      ["grpc-status", "0"],
      ["trail", "1"],
    ]);
    expect(okTrailers(new Metadata(), LIMITS).frozen).toBe(true);
  });

  it("cannot be overruled by the user", () => {
    expect(() => okTrailers(new Metadata({ "grpc-status": "5" }), LIMITS)).toThrow(/reserved/);
  });
});

it("the fields of the protocol are not the user's", () => {
  const names = ["content-type", "te", "grpc-encoding", "grpc-status", "grpc-timeout", ":status", "tri-service-group"];
  const fields = Object.fromEntries([...names, "user", "trace-bin", "authorization"].map((name) => [name, "1"]));
  expect([...userMetadata(toMetadata(fields))].map(([name]) => name)).toEqual(["user", "trace-bin", "authorization"]);
});
