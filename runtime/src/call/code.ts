/**
 * Error codes: gRPC's status codes, which both sub-protocols use, and the protocol error codes of sub-protocol A.
 */

/** gRPC's status codes, the `code` of an {@link RpcError} (spec: Errors, sub-protocol B). */
export const Code = {
  Canceled: 1,
  Unknown: 2,
  InvalidArgument: 3,
  DeadlineExceeded: 4,
  NotFound: 5,
  AlreadyExists: 6,
  PermissionDenied: 7,
  ResourceExhausted: 8,
  FailedPrecondition: 9,
  Aborted: 10,
  OutOfRange: 11,
  Unimplemented: 12,
  Internal: 13,
  Unavailable: 14,
  DataLoss: 15,
  Unauthenticated: 16,
} as const;
export type Code = (typeof Code)[keyof typeof Code];

/** Names by number, computed from the table above to keep browser bundles small. */
const CODE_NAMES: readonly string[] = [
  "ok",
  ...Object.keys(Code).map((word) => word.replace(/\B[A-Z]/g, "_$&").toLowerCase()),
];

/** Returns the name of a code as it appears in messages and error bodies, such as `invalid_argument`. */
export function codeName(code: Code): string {
  return CODE_NAMES[code] as string;
}

/** Returns the code with this name, in any case, such as `not_found` or `NOT_FOUND`; `undefined` for any other text. */
export function codeFromName(name: string): Code | undefined {
  const lower = name.toLowerCase();
  return codeFromNumber(CODE_NAMES.indexOf(lower === "cancelled" ? "canceled" : lower));
}

/** Returns the code with this number; `undefined` for 0 (ok) and for unassigned numbers. */
export function codeFromNumber(number: number): Code | undefined {
  return Number.isInteger(number) && number >= 1 && number <= 16 ? (number as Code) : undefined;
}

/** The protocol error codes of sub-protocol A (spec: Errors, sub-protocol A: protocol error codes). */
export const Status = {
  Ok: 20,
  SerializationError: 25,
  ClientTimeout: 30,
  ServerTimeout: 31,
  ChannelInactive: 35,
  BadRequest: 40,
  BadResponse: 50,
  ServiceNotFound: 60,
  ServiceError: 70,
  ServerError: 80,
  ClientError: 90,
} as const;
export type Status = (typeof Status)[keyof typeof Status];
