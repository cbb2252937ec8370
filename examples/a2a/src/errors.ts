/** The errors of A2A (specification, sections 3.3.2 and 5.4): a code of gRPC and the detail `google.rpc.ErrorInfo`. */
import { Code, createDetail, RpcError } from "triple-es";
import { BadRequestSchema, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";

const CODES = {
  TASK_NOT_FOUND: Code.NotFound,
  TASK_NOT_CANCELABLE: Code.FailedPrecondition,
  PUSH_NOTIFICATION_NOT_SUPPORTED: Code.FailedPrecondition,
  UNSUPPORTED_OPERATION: Code.FailedPrecondition,
  CONTENT_TYPE_NOT_SUPPORTED: Code.InvalidArgument,
  VERSION_NOT_SUPPORTED: Code.FailedPrecondition,
};

/** Creates an error that A2A defines, by its reason. */
export function a2aError(reason: keyof typeof CODES, message: string): RpcError {
  const details = [createDetail(ErrorInfoSchema, { reason, domain: "a2a-protocol.org" })];
  return new RpcError(CODES[reason], message, { details });
}

/** Creates the error for a field of a request that is invalid. */
export function invalidField(field: string, description: string): RpcError {
  const details = [createDetail(BadRequestSchema, { fieldViolations: [{ field, description }] })];
  return new RpcError(Code.InvalidArgument, `${field} ${description}`, { details });
}
