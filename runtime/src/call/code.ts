/**
 * Error codes: gRPC's status codes, which both sub-protocols use, and the protocol error codes of sub-protocol A.
 */

/** gRPC's status codes, the `code` of an {@link RpcError} (spec: Errors, sub-protocol B). */
export const Code = {
  /** The caller cancelled the call, or its connection was lost. */
  Canceled: 1,
  /** An error of unknown kind, such as one that a handler has thrown without a code. */
  Unknown: 2,
  /** The request is invalid, whatever the state of the system. */
  InvalidArgument: 3,
  /** The deadline passed before the call ended. The server may have processed it. */
  DeadlineExceeded: 4,
  /** The requested entity does not exist. */
  NotFound: 5,
  /** The entity that the call creates exists. */
  AlreadyExists: 6,
  /** The caller is known and is not allowed to make the call. */
  PermissionDenied: 7,
  /** A limit is exceeded: a quota, or the size of a message or header block. */
  ResourceExhausted: 8,
  /** The system is not in the state that the call requires. A retry does not help before the state has changed. */
  FailedPrecondition: 9,
  /** The call conflicts with another one, such as a concurrent transaction. A retry of the whole sequence may help. */
  Aborted: 10,
  /** The request lies past the valid range, such as a read after the end of a file. */
  OutOfRange: 11,
  /** The server does not have the method, the codec or the compression. */
  Unimplemented: 12,
  /** An invariant is broken: a fault of the server or of the protocol. */
  Internal: 13,
  /** The server cannot be reached or refuses calls at present. A retry with backoff may help. */
  Unavailable: 14,
  /** Data is lost or corrupted. */
  DataLoss: 15,
  /** The call has no valid credentials. */
  Unauthenticated: 16,
} as const;
/** The number of an error code. */
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
  /** Success. */
  Ok: 20,
  /** A message cannot be encoded or decoded. */
  SerializationError: 25,
  /** The deadline passed, as seen by the client. */
  ClientTimeout: 30,
  /** The deadline passed, as seen by the server. */
  ServerTimeout: 31,
  /** The connection was lost before the response arrived. */
  ChannelInactive: 35,
  /** The request is malformed. */
  BadRequest: 40,
  /** The response is malformed. */
  BadResponse: 50,
  /** The server does not have the service or method. */
  ServiceNotFound: 60,
  /** The handler has failed. */
  ServiceError: 70,
  /** The server has failed outside of the handler. */
  ServerError: 80,
  /** The client could not make the call. */
  ClientError: 90,
} as const;
/** The number of a protocol error code of sub-protocol A. */
export type Status = (typeof Status)[keyof typeof Status];
