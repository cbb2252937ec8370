/** RpcError: conversion of other errors, recognition between copies of the package, and details. */
import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { describe, expect, it, vi } from "vitest";
import { GreetRequestSchema, GreetResponseSchema } from "../../examples/gen/greet/v1/greet_pb.ts";
import { Code, Status } from "../../runtime/src/call/code.ts";
import { abortError, findDetails, RpcError } from "../../runtime/src/call/error.ts";

describe("an RpcError", () => {
  it("shows its code in front of the message, which travels without it", () => {
    const error = new RpcError(Code.NotFound, "no such person");
    expect(error.message).toBe("[not_found] no such person");
    expect(error.rawMessage).toBe("no such person");
    expect(String(error)).toBe("RpcError: [not_found] no such person");
    expect(new RpcError(Code.Internal, "").message).toBe("[internal]");
    expect(new RpcError(Code.Internal, undefined as never)).toMatchObject({ message: "[internal]", rawMessage: "" });
  });

  it("takes metadata, headers, status, details and cause, and has none by default", () => {
    const bare = new RpcError(Code.Unknown, "x");
    expect([bare.trailers.size, bare.headers.size, bare.details.length]).toEqual([0, 0, 0]);
    expect(bare.status).toBeUndefined();
    expect("cause" in bare).toBe(false);
    const cause = new Error("why");
    const full = new RpcError(Code.Unknown, "x", {
      trailers: { a: "1" },
      headers: { b: "2" },
      status: Status.ServerError,
      cause,
    });
    expect(full.trailers.get("a")).toBe("1");
    expect(full.headers.get("b")).toBe("2");
    expect(full.status).toBe(80);
    expect(full.cause).toBe(cause);
  });

  it("is recognised across two copies of the package", async () => {
    const own = new RpcError(Code.Aborted, "x");
    vi.resetModules();
    const copy = await import("../../runtime/src/call/error.ts");
    expect(copy.RpcError).not.toBe(RpcError);
    expect(own).toBeInstanceOf(copy.RpcError);
    expect(new copy.RpcError(Code.Aborted, "x")).toBeInstanceOf(RpcError);
    expect(copy.RpcError.from(own)).toBe(own);
  });

  it.each([null, undefined, "RpcError", 7, {}, new Error("x"), { name: "RpcError", code: 5 }])("is not %s", (value) => {
    expect(value instanceof RpcError).toBe(false);
  });

  it("does not show its mark among its properties", () => {
    expect(Object.getOwnPropertySymbols(Object.assign({}, new RpcError(Code.Unknown, "x")))).toEqual([]);
  });
});

describe("RpcError.from", () => {
  it("returns an RpcError unchanged", () => {
    const error = new RpcError(Code.NotFound, "x");
    expect(RpcError.from(error, Code.Internal)).toBe(error);
  });

  it.each<[string, unknown, Code, string]>([
    ["an AbortError", new DOMException("stop", "AbortError"), Code.Canceled, "the call was cancelled"],
    ["a TimeoutError", new DOMException("late", "TimeoutError"), Code.DeadlineExceeded, "the deadline has passed"],
    ["an error", new Error("broken"), Code.Unknown, "broken"],
    ["a string", "broken", Code.Unknown, "broken"],
    ["undefined", undefined, Code.Unknown, "undefined"],
    ["null", null, Code.Unknown, "null"],
    ["an object", { a: 1 }, Code.Unknown, "[object Object]"],
    ["a symbol", Symbol("odd"), Code.Unknown, "Symbol(odd)"],
  ])("converts %s and keeps it as the cause", (_name, reason, code, message) => {
    const error = RpcError.from(reason);
    expect([error.code, error.rawMessage]).toEqual([code, message]);
    if (reason !== undefined) expect(error.cause).toBe(reason);
  });

  it("uses the fallback code for values without a code", () => {
    expect(RpcError.from(new Error("x"), Code.Internal).code).toBe(Code.Internal);
    expect(RpcError.from(new DOMException("", "AbortError"), Code.Internal).code).toBe(Code.Canceled);
  });

  it.each([
    [undefined, Code.Canceled],
    ["had enough", Code.Canceled],
    [new RpcError(Code.Aborted, "x"), Code.Aborted],
    [new DOMException("", "TimeoutError"), Code.DeadlineExceeded],
  ])("reads the reason %s of a signal", (reason, code) => {
    expect(abortError(AbortSignal.abort(reason)).code).toBe(code);
  });
});

describe("findDetails", () => {
  const detail = anyPack(GreetRequestSchema, create(GreetRequestSchema, { name: "Ada" }));

  it("finds the details of one type, in order", () => {
    const other = anyPack(GreetResponseSchema, create(GreetResponseSchema, { greeting: "Hi" }));
    const again = anyPack(GreetRequestSchema, create(GreetRequestSchema, { name: "Bob" }));
    const error = new RpcError(Code.Unknown, "x", { details: [detail, other, again] });
    expect(findDetails(error, GreetRequestSchema).map(({ name }) => name)).toEqual(["Ada", "Bob"]);
    expect(findDetails(error, GreetResponseSchema).map(({ greeting }) => greeting)).toEqual(["Hi"]);
  });

  it("leaves out what cannot be decoded, and what has no usable type", () => {
    const details = [
      { typeUrl: detail.typeUrl, value: Uint8Array.of(0xff) },
      { typeUrl: "", value: detail.value },
      { typeUrl: "/", value: detail.value },
      detail,
    ];
    expect(findDetails(new RpcError(Code.Unknown, "x", { details }), GreetRequestSchema)).toHaveLength(1);
  });
});
