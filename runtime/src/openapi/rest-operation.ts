/** Operations of REST routes (`google.api.http`): the places of the request's fields in path, query and body. */
import type { DescField, DescMessage, JsonObject } from "@bufbuild/protobuf";
import { MAX_JSON_DEPTH } from "../codec/json-syntax.ts";
import { holdsJson, isTextual } from "../http-rpc/body/parameters.ts";
import { type FieldPath, keyOf } from "../rest/field-path.ts";
import type { Route } from "../rest/rule.ts";
import type { PathTemplate, TemplateVariable } from "../rest/template.ts";
import { ERROR_RESPONSES } from "./error-schema.ts";
import { exampleOf, exampleOfField } from "./example.ts";
import {
  contentOf,
  descriptionOf,
  factsOf,
  type ServiceDescription,
  STREAMING_NOTES,
  selectorParameters,
} from "./operation.ts";
import { isRequired, type SchemaCollection } from "./schema.ts";

/** HTTP methods that a path item of OpenAPI 3.1 can have. */
export const DESCRIBED_METHODS: ReadonlySet<string> = new Set([
  "GET",
  "PUT",
  "POST",
  "DELETE",
  "OPTIONS",
  "HEAD",
  "PATCH",
  "TRACE",
]);

/** Maximum number of query parameters of a route in a document. */
const MAX_QUERY_PARAMETERS = 200;
/** Maximum number of paths that are visited to find them. */
const MAX_VISITED_PATHS = 20_000;

/** One segment of a path that is a parameter. */
interface PathParameter {
  readonly name: string;
  readonly schema: JsonObject;
  readonly description: string;
}

/** The path of a route in OpenAPI, whose parameters are single segments, and its parameters in order. */
export interface DescribedPath {
  readonly path: string;
  readonly parameters: readonly PathParameter[];
}

/**
 * Returns the path of a route. A variable of several segments becomes a parameter for each wildcard in it. `**` becomes one
 * parameter, because no parameter of OpenAPI has several segments.
 */
export function describePath({ template, variables }: Route, schemas: SchemaCollection): DescribedPath {
  const parameters: PathParameter[] = [];
  const segments = template.segments.map((segment, index) => {
    if (typeof segment === "object") return encodeURI(segment.literal);
    const position = template.variables.findIndex(
      ({ start, end = Number.POSITIVE_INFINITY }) => start <= index && index < end,
    );
    const parameter = parameterAt(template, position, variables[position], parameters, segment, schemas);
    parameters.push(parameter);
    return `{${parameter.name}}`;
  });
  return { path: `/${segments.join("/")}${template.verb === "" ? "" : `:${encodeURI(template.verb)}`}`, parameters };
}

function parameterAt(
  template: PathTemplate,
  position: number,
  field: FieldPath | undefined,
  known: readonly PathParameter[],
  wildcard: "*" | "**",
  schemas: SchemaCollection,
): PathParameter {
  const variable = template.variables[position];
  const last = field?.at(-1);
  if (variable === undefined || field === undefined || last === undefined) {
    return { name: `segment${known.length + 1}`, schema: { type: "string" }, description: "A segment of the path." };
  }
  const key = keyOf(field);
  if (!variable.isMulti) {
    const comment = schemas.comments.of(`${last.parent.typeName}.${last.name}`);
    return { name: key, schema: schemas.field(last), description: comment };
  }
  const pattern = patternOf(template, variable);
  const several = wildcard === "**" ? " It may have several segments, which OpenAPI cannot express." : "";
  const count = known.filter(({ name }) => name.startsWith(`${key}_`)).length + 1;
  return {
    name: wildcard === "**" && pattern === "**" ? key : `${key}_${count}`,
    schema: { type: "string", minLength: 1 },
    description: `Wildcard ${count} of \`${key}\`, which is \`${pattern}\`.${several}`,
  };
}

function patternOf({ segments }: PathTemplate, { start, end }: TemplateVariable): string {
  return segments
    .slice(start, end)
    .map((one) => (typeof one === "string" ? one : one.literal))
    .join("/");
}

/** Returns the operation of a route, with the names of path parameters as in `names`. */
export function restOperation(
  service: ServiceDescription,
  route: Route,
  { parameters }: DescribedPath,
  names: readonly string[],
  schemas: SchemaCollection,
): JsonObject {
  const { target, method, body, responseBody, template } = route;
  const facts = factsOf(target, schemas.comments);
  const comment = schemas.comments.of(`${target.service}.${target.name}`);
  const isEvents = target.kind === "server_streaming";
  const isServed = target.kind === "unary" || isEvents;
  const stream = isServed
    ? STREAMING_NOTES[target.kind]
    : "Client streams are not supported by routes: they answer 501.";
  return {
    ...facts,
    operationId: `${facts["operationId"]}.${method.toLowerCase()}`,
    ...descriptionOf([comment, `The route \`${method} ${template.text}\` of \`${target.path}\`.`, stream]),
    parameters: [
      ...parameters.map(({ schema, description }, index) => ({
        name: names[index] ?? "",
        in: "path",
        required: true,
        ...descriptionOf([description]),
        schema,
      })),
      ...queryParameters(route, schemas),
      { $ref: "#/components/parameters/Timeout" },
      ...selectorParameters(service.selectors).map((one) => ({ ...one, required: false })),
    ],
    ...(body === undefined ? {} : { requestBody: requestBodyOf(route, body, schemas) }),
    responses: {
      "200": {
        description:
          responseBody === undefined ? `The response, ${target.output.typeName}.` : "A field of the response.",
        content: contentOf(
          isEvents ? "text/event-stream" : "application/json",
          responseBody === undefined ? schemas.message(target.output) : schemas.field(responseBody),
          responseBody === undefined ? exampleOf(target.output) : exampleOfField(responseBody),
        ),
      },
      ...ERROR_RESPONSES,
    },
  };
}

function requestBodyOf(
  { target: { input }, variables }: Route,
  body: DescField | "*",
  schemas: SchemaCollection,
): JsonObject {
  if (body !== "*") return bodyOf(schemas.field(body), exampleOfField(body));
  const inPath = new Set(variables.flatMap((path) => (path.length === 1 ? [path[0]] : [])));
  const fields = input.fields.filter((field) => !inPath.has(field));
  const whole = inPath.size === 0;
  return bodyOf(whole ? schemas.message(input) : schemas.messageObject(input, fields), exampleOf(input, fields));
}

function bodyOf(schema: JsonObject, example: ReturnType<typeof exampleOfField>): JsonObject {
  return { required: true, content: contentOf("application/json", schema, example) };
}

/** Returns the query parameters of a route: all fields that are neither in the path nor in the body. */
function queryParameters({ target, variables, body }: Route, schemas: SchemaCollection): JsonObject[] {
  if (body === "*") return [];
  const inPath = new Set(variables.map(keyOf));
  const isInQuery = (path: FieldPath): boolean => path[0] !== body && !inPath.has(keyOf(path));
  return queryLeaves(target.input, isInQuery).map((path) => {
    const field = path.at(-1) ?? path[0];
    const schema = schemas.field(field);
    // A parameter of any JSON is its text, and not one of many by the members of an object.
    const isJson = field.fieldKind === "message" && holdsJson(field.message);
    return {
      name: keyOf(path),
      in: "query",
      ...descriptionOf([schemas.comments.of(`${field.parent.typeName}.${field.name}`)]),
      ...(path.length === 1 && isRequired(field) ? { required: true } : {}),
      ...(field.deprecated ? { deprecated: true } : {}),
      ...(isJson ? { content: contentOf("application/json", schema, undefined) } : { schema }),
    };
  });
}

/**
 * Returns the paths to the first fields that can be query parameters and are wanted: scalars and enums, in messages at any depth
 * (`google.api.http`, "query parameters"). Messages inside messages can have exponentially many paths to fields, so their number
 * is bounded, and routes accept no deeper ones than JSON.
 */
export function queryLeaves(type: DescMessage, isWanted: (path: FieldPath) => boolean): FieldPath[] {
  const leaves: FieldPath[] = [];
  const withLeaves = typesWithLeaves(type);
  let visited = 0;

  /** `outer` are the messages around the type: a message inside itself has no parameters. */
  const visit = (current: DescMessage, before: readonly DescField[], outer: ReadonlySet<DescMessage>): void => {
    const inside = new Set([...outer, current]);
    for (const field of current.fields) {
      if (leaves.length === MAX_QUERY_PARAMETERS || visited === MAX_VISITED_PATHS) return;
      visited++;
      const path = [...before, field] as unknown as FieldPath;
      if (field.fieldKind === "map" || !isWanted(path)) continue;
      const inner = messageOf(field);
      if (isLeaf(field)) leaves.push(path);
      else if (inner !== undefined && path.length < MAX_JSON_DEPTH && withLeaves.has(inner) && !inside.has(inner)) {
        visit(inner, path, inside);
      }
    }
  };
  visit(type, [], new Set());
  return leaves;
}

function isLeaf({ fieldKind, message }: DescField): boolean {
  return fieldKind !== "map" && (message === undefined || isTextual(message));
}

/** The message of a field whose own fields can be parameters. */
function messageOf(field: DescField): DescMessage | undefined {
  return field.fieldKind === "message" && !isLeaf(field) ? field.message : undefined;
}

/** Returns the messages inside a message from which a leaf can be reached. Visits each message once. */
function typesWithLeaves(root: DescMessage): ReadonlySet<DescMessage> {
  const holders = new Map<DescMessage, DescMessage[]>([[root, []]]);
  for (const type of holders.keys()) {
    for (const field of type.fields) {
      const inner = messageOf(field);
      if (inner === undefined) continue;
      const known = holders.get(inner);
      if (known === undefined) holders.set(inner, [type]);
      else known.push(type);
    }
  }
  const found = new Set([...holders.keys()].filter(({ fields }) => fields.some(isLeaf)));
  for (const type of found) for (const holder of holders.get(type) ?? []) found.add(holder);
  return found;
}
