/**
 * Rules of `google.api.http` (google/api/http.proto, message `HttpRule`): the HTTP routes of a method, checked against its
 * messages.
 */
import { create, type DescField, type DescMessage, getOption, hasOption } from "@bufbuild/protobuf";
import type { ServiceDef } from "../call/call.ts";
import { descriptorOf, type ProtoMethod } from "../call/method.ts";
import { http } from "../gen/google/api/annotations_pb.ts";
import { type HttpRule, HttpRuleSchema } from "../gen/google/api/http_pb.ts";
import { findField } from "../http-rpc/body/parameters.ts";
import { type FieldPath, keyOf, resolvePath } from "./field-path.ts";
import type { TableRoute } from "./route-table.ts";
import { parseTemplate } from "./template.ts";

/** A rule or an additional binding of it: one HTTP method and path of a method. */
export interface Route extends TableRoute {
  readonly target: ProtoMethod;
  /** The fields of the template's variables, in order. */
  readonly variables: readonly FieldPath[];
  /** The field that the body contains, or `*` for all fields outside of the path. Default: there is no body. */
  readonly body: DescField | "*" | undefined;
  /** The field that is the body of the response. Default: the whole message is. */
  readonly responseBody: DescField | undefined;
}

/**
 * Returns the routes of a method of the service, those of additional bindings included: from `override`, or else from its
 * annotation, or else GET at its own path if it is declared to have no side effects. Throws a `TypeError` for an
 * invalid rule, and if the proto file of the service cannot be found.
 */
export function routesOf(
  service: ServiceDef<object, object>,
  target: ProtoMethod,
  override: HttpRule | undefined,
): Route[] {
  const rule = override ?? annotationOf(service, target);
  if (rule !== undefined) return [rule, ...rule.additionalBindings].map((one) => routeOf(target, one, one !== rule));
  if (target.kind !== "unary" || target.idempotency !== "no_side_effects") return [];
  return [routeOf(target, create(HttpRuleSchema, { pattern: { case: "get", value: target.path } }), false)];
}

function annotationOf({ typeName, methods }: ServiceDef<object, object>, target: ProtoMethod): HttpRule | undefined {
  // The messages of one method can be in other files than the service; then the file is found by the messages of
  // another method.
  const files = Object.values(methods).flatMap(({ input, output }) =>
    input && output ? [input.file, output.file] : [],
  );
  const service = files.flatMap(({ services }) => services).find((one) => one.typeName === typeName);
  const descriptor = service?.methods.find(({ name }) => name === target.name) ?? descriptorOf(target);
  return descriptor !== undefined && hasOption(descriptor, http) ? getOption(descriptor, http) : undefined;
}

/** A token (RFC 9110, section 5.6.2), or `*`, which is one too. */
const HTTP_METHOD = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

function routeOf(target: ProtoMethod, rule: HttpRule, isAdditional: boolean): Route {
  const invalid = (problem: string): never => {
    throw new TypeError(`the rule google.api.http of ${target.path}: ${problem}`);
  };
  const [method, path] = patternOf(rule) ?? invalid("it has no pattern, such as get or post");
  if (!HTTP_METHOD.test(method)) invalid(`"${method}" is not an HTTP method`);
  if (isAdditional && rule.additionalBindings.length > 0) invalid("an additional binding must not have others");
  const template = parseTemplate(path, invalid);
  const variables = template.variables.map(({ fieldPath }) => variableOf(target.input, fieldPath, invalid));
  const keys = variables.map(keyOf);
  const repeated = keys.find((key, index) => keys.indexOf(key) !== index);
  if (repeated !== undefined) invalid(`the template "${path}" has two variables for "${repeated}"`);
  if (method === "GET" && rule.body !== "")
    invalid("GET has no body; remove the body of the rule, or use another method");
  return {
    target,
    method,
    template,
    variables,
    body: rule.body === "*" ? "*" : fieldOf(target.input, rule.body, "body", invalid),
    responseBody: fieldOf(target.output, rule.responseBody, "response_body", invalid),
  };
}

function patternOf({ pattern }: HttpRule): readonly [method: string, path: string] | undefined {
  if (pattern.case === undefined) return undefined;
  if (pattern.case === "custom") return [pattern.value.kind, pattern.value.path];
  return [pattern.case.toUpperCase(), pattern.value];
}

function variableOf(type: DescMessage, names: readonly string[], invalid: (problem: string) => never): FieldPath {
  const found = resolvePath(type, names);
  const name = names.join(".");
  if (found === undefined) return invalid(`${type.typeName} has no field "${name}"`);
  if ("problem" in found) return invalid(`the variable "${name}" ${found.problem}`);
  if (found.path.at(-1)?.fieldKind === "list") return invalid(`the variable "${name}" is a repeated field`);
  return found.path;
}

function fieldOf(
  type: DescMessage,
  name: string,
  option: string,
  invalid: (problem: string) => never,
): DescField | undefined {
  return name === ""
    ? undefined
    : (findField(type, name) ?? invalid(`${option}: ${type.typeName} has no field "${name}"`));
}
