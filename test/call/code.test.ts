/** The codes of gRPC and the statuses of sub-protocol A: numbers and names. */
import { describe, expect, it } from "vitest";
import { Code, codeFromName, codeFromNumber, codeName, Status } from "../../runtime/src/call/code.ts";

const CODES: readonly (readonly [number, string, Code])[] = [
  [1, "canceled", Code.Canceled],
  [2, "unknown", Code.Unknown],
  [3, "invalid_argument", Code.InvalidArgument],
  [4, "deadline_exceeded", Code.DeadlineExceeded],
  [5, "not_found", Code.NotFound],
  [6, "already_exists", Code.AlreadyExists],
  [7, "permission_denied", Code.PermissionDenied],
  [8, "resource_exhausted", Code.ResourceExhausted],
  [9, "failed_precondition", Code.FailedPrecondition],
  [10, "aborted", Code.Aborted],
  [11, "out_of_range", Code.OutOfRange],
  [12, "unimplemented", Code.Unimplemented],
  [13, "internal", Code.Internal],
  [14, "unavailable", Code.Unavailable],
  [15, "data_loss", Code.DataLoss],
  [16, "unauthenticated", Code.Unauthenticated],
];

describe("codes", () => {
  it.each(CODES)("%i is %s, in every direction and in gRPC's upper case", (number, name, code) => {
    expect(code).toBe(number);
    expect(codeName(code)).toBe(name);
    expect(codeFromName(name)).toBe(code);
    expect(codeFromName(name.toUpperCase())).toBe(code);
    expect(codeFromNumber(number)).toBe(code);
  });

  it("are all in the table", () => {
    expect(Object.values(Code)).toEqual(CODES.map(([number]) => number));
  });

  it("accept both spellings of canceled", () => {
    expect(codeFromName("cancelled")).toBe(Code.Canceled);
    expect(codeFromName("CANCELLED")).toBe(Code.Canceled);
  });

  it.each(["ok", "OK", "", "code_17", "toString", "not found"])("have none with the name %j", (name) => {
    expect(codeFromName(name)).toBeUndefined();
  });

  it.each([0, -1, 17, 1.5, Number.NaN, Number.POSITIVE_INFINITY])("have none with the number %d", (number) => {
    expect(codeFromNumber(number)).toBeUndefined();
  });
});

describe("statuses", () => {
  it("are the eleven of the specification", () => {
    expect(Object.entries(Status)).toEqual([
      ["Ok", 20],
      ["SerializationError", 25],
      ["ClientTimeout", 30],
      ["ServerTimeout", 31],
      ["ChannelInactive", 35],
      ["BadRequest", 40],
      ["BadResponse", 50],
      ["ServiceNotFound", 60],
      ["ServiceError", 70],
      ["ServerError", 80],
      ["ClientError", 90],
    ]);
  });
});
