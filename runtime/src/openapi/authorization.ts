/**
 * The header fields of authorized security schemes (OpenAPI 3.1.1, section 4.8.27), with which Swagger UI also authorizes
 * unary calls.
 */
/** The response of a token endpoint (RFC 6749, section 5.1). */
interface OAuthToken {
  readonly access_token?: string;
}

/** The entered value of a scheme with several fields. */
interface EnteredValue {
  readonly username?: string;
  readonly password?: string;
  readonly token?: OAuthToken;
}

/** A security scheme with the value that the visitor has entered, as Swagger UI stores it. */
export interface AuthorizedScheme {
  readonly schema?: { readonly type?: string; readonly scheme?: string; readonly in?: string; readonly name?: string };
  readonly value?: string | EnteredValue;
  readonly token?: OAuthToken;
}

/** Returns the fields of the authorized schemes that the requirements name, except keys in the query or in cookies. */
export function authorizationFields(
  requirements: readonly Readonly<Record<string, unknown>>[],
  authorized: Readonly<Record<string, AuthorizedScheme>>,
): Record<string, string> {
  const names = new Set(requirements.flatMap((requirement) => Object.keys(requirement)));
  const fields = [...names].map((name) => fieldOf(authorized[name]));
  return Object.fromEntries(fields.filter((field) => field !== undefined));
}

function fieldOf({
  schema = {},
  value,
  token,
}: AuthorizedScheme = {}): readonly [name: string, value: string] | undefined {
  const { type, in: place, name } = schema;
  const scheme = schema.scheme?.toLowerCase();
  if (type === "http" && scheme === "bearer" && typeof value === "string") return ["authorization", `Bearer ${value}`];
  if (type === "http" && scheme === "basic" && typeof value === "object") {
    const { username = "", password = "" } = value;
    const credentials = new TextEncoder().encode(`${username}:${password}`);
    return ["authorization", `Basic ${btoa(String.fromCharCode(...credentials))}`];
  }
  if (type === "oauth2" || type === "openIdConnect") {
    const received = token ?? (typeof value === "object" ? value.token : undefined);
    return received?.access_token === undefined ? undefined : ["authorization", `Bearer ${received.access_token}`];
  }
  if (type === "apiKey" && place === "header" && name !== undefined && typeof value === "string") return [name, value];
  return undefined;
}
