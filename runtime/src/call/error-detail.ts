/**
 * Error details: creation from messages, and reading without schemas.
 */
import { create, type DescMessage, type MessageInitShape, toBinary, toJson } from "@bufbuild/protobuf";
import type { ErrorDetail, RpcError } from "./error.ts";

/**
 * Creates a detail of an error from a message or its init shape. Over HTTP RPC the detail is also sent as JSON, so that
 * people and clients without its schema can read it.
 *
 *     throw new RpcError(Code.InvalidArgument, "the name is empty", {
 *       details: [createDetail(BadRequestSchema, { fieldViolations: [{ field: "name", description: "is empty" }] })],
 *     });
 */
export function createDetail<Desc extends DescMessage>(schema: Desc, init: MessageInitShape<Desc>): ErrorDetail {
  const message = create(schema, init);
  const typeUrl = `type.googleapis.com/${schema.typeName}`;
  return { typeUrl, value: toBinary(schema, message), debug: toJson(schema, message) };
}

/**
 * Returns the details of a type, such as `google.rpc.BadRequest`, as plain JSON. Servers of triple-es send JSON with details
 * that `createDetail` has created, or whose types are in their option `registry`; details without JSON are left out.
 */
export function findJsonDetails({ details }: RpcError, typeName: string): unknown[] {
  return details.flatMap(({ typeUrl, debug }) => (debug && typeUrl.endsWith(`/${typeName}`) ? [debug] : []));
}
