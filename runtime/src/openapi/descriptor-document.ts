/**
 * The OpenAPI document of services that are given as descriptors, without a router: those of a plugin's request, of a
 * compiler's output, or of a server's reflection.
 */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import type { ProtoMethod } from "../call/method.ts";
import { routesOf } from "../rest/rule.ts";
import { buildDocument, type OpenApiDocument, type OpenApiOptions } from "./document.ts";

const IDEMPOTENCIES: Readonly<Partial<Record<Idempotency, NonNullable<ProtoMethod["idempotency"]>>>> = {
  [Idempotency.NO_SIDE_EFFECTS]: "no_side_effects",
  [Idempotency.IDEMPOTENT]: "idempotent",
};

/**
 * Returns the OpenAPI 3.1 document of services, with the routes of methods that have the annotation `google.api.http`,
 * and with the comments of their files and imports. Throws a `TypeError` for an invalid annotation or option.
 */
export function createOpenApiOf(services: readonly DescService[], options: OpenApiOptions = {}): OpenApiDocument {
  const described = services.map((service) => {
    const methods = service.methods.map(methodOf);
    const definition = {
      typeName: service.typeName,
      methods: Object.fromEntries(methods.map((one) => [one.name, one])),
    };
    return {
      typeName: service.typeName,
      methods,
      selectors: [{}],
      // Without an annotation, the server decides whether a method has a route: it has one after `addRest`.
      routes: methods
        .flatMap((method) => routesOf(definition, method, undefined))
        .filter(({ target, template }) => template.text !== target.path),
    };
  });
  const files = new Set(services.map(({ file }) => file));
  return buildDocument(described, options, files);
}

function methodOf(method: DescMethod): ProtoMethod {
  const { parent, name, methodKind, input, output } = method;
  const idempotency = IDEMPOTENCIES[method.idempotency];
  const deprecated = method.deprecated || parent.deprecated || parent.file.deprecated;
  return {
    kind: methodKind,
    service: parent.typeName,
    name,
    path: `/${parent.typeName}/${name}`,
    input,
    output,
    ...(idempotency === undefined ? {} : { idempotency }),
    ...(deprecated ? { deprecated } : {}),
    descriptor: () => method,
  };
}
