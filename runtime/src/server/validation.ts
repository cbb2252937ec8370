/** Validation of messages by a validator of the rules in their proto files, such as protovalidate. */
import { create, type DescMessage, isMessage, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import { type Path, pathToString } from "@bufbuild/protobuf/reflect";
import type { Interceptor } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { createDetail, RpcError } from "../call/error.ts";
import { mapEach } from "../call/message-stream.ts";
import { BadRequestSchema } from "../gen/google/rpc/error_details_pb.ts";
import { clipText } from "../protocol/error.ts";

/** A validator of messages. `createValidator()` of `@bufbuild/protovalidate` returns one. */
export interface MessageValidator {
  /** Validates a message of the schema. */
  validate(
    schema: DescMessage,
    message: Message,
  ): {
    /** `valid`, `invalid` if a rule is violated, or `error` if the rules themselves are invalid. */
    readonly kind: "valid" | "invalid" | "error";
    /** The error of an outcome that is not `valid`. */
    readonly error: Error | undefined;
    /** The violated rules of an outcome that is `invalid`: text for people, the identifier of the rule, and the field. */
    readonly violations:
      | readonly { readonly message: string; readonly ruleId: string; readonly field: Path }[]
      | undefined;
  };
}

type Violations = NonNullable<ReturnType<MessageValidator["validate"]>["violations"]>;

/**
 * Creates an interceptor that validates the request messages of a server or a client, those of streams one by one when
 * they are read. A call with an invalid message fails with `invalid_argument`, and with the detail
 * `google.rpc.BadRequest`, which has a violation for each violated rule: its field, its description and, as its reason,
 * the rule in UPPER_SNAKE_CASE.
 *
 * An error of the rules themselves fails the call as other errors do: on a server, the client sees `unknown`, and
 * `onError` receives the error. Messages of methods without schemas are not validated. Throws a `TypeError` for a value
 * that is not a validator.
 */
export function createValidation(validator: MessageValidator): Interceptor {
  if (typeof validator?.validate !== "function") {
    throw new TypeError("createValidation takes a validator, as createValidator() of @bufbuild/protovalidate returns");
  }
  return (next) => async (request) => {
    const { input } = request.method;
    if (input === undefined) return next(request);
    const checked = (message: object): object => check(validator, input, message);
    if (request.stream) return next({ ...request, messages: mapEach(request.messages, checked) });
    checked(request.message);
    return await next(request);
  };
}

/** Returns the message if it is valid. */
function check(validator: MessageValidator, schema: DescMessage, message: object): object {
  // Messages of clients may be init objects.
  const whole = isMessage(message, schema) ? message : create(schema, message as MessageInitShape<DescMessage>);
  const { kind, error, violations = [] } = validator.validate(schema, whole);
  if (kind === "error") throw error;
  if (kind === "invalid") throw invalidMessage(schema, violations);
  return message;
}

/** Maximum number of violations in the text of an error. The details have all, unless gRPC omits them above 8 KiB. */
const SHOWN_VIOLATIONS = 3;

function invalidMessage({ typeName }: DescMessage, violations: Violations): RpcError {
  const fieldViolations = violations.map(({ field, message, ruleId }) => ({
    field: pathToString(field),
    description: message,
    reason: ruleId.replaceAll(/\W+/g, "_").toUpperCase(),
  }));
  const shown = fieldViolations
    .slice(0, SHOWN_VIOLATIONS)
    .map(({ field, description }) => (field === "" ? description : `${field}: ${description}`));
  const more = fieldViolations.length - shown.length;
  const text = `${typeName} is invalid: ${shown.join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
  return new RpcError(Code.InvalidArgument, clipText(text), {
    details: [createDetail(BadRequestSchema, { fieldViolations })],
  });
}
