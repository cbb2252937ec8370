import { findDetails, RpcError } from "triple-es";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";

/** Shows the text of an error, and which fields of the request are invalid. */
export function ErrorMessage({ error }: { readonly error: Error }) {
  const violations =
    error instanceof RpcError ? findDetails(error, BadRequestSchema).flatMap((detail) => detail.fieldViolations) : [];
  return (
    <div role="alert">
      <p>{error instanceof RpcError ? error.rawMessage : error.message}</p>
      <ul>
        {violations.map(({ field, description }) => (
          <li key={field}>
            {field}: {description}
          </li>
        ))}
      </ul>
    </div>
  );
}
