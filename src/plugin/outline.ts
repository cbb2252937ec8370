/** The outline of a generated file: its services and their messages, with all identifiers and comments settled. */
import type { DescFile, DescMethod, DescService } from "@bufbuild/protobuf";
import { ServiceDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { Declaration } from "../print/declaration.ts";
import { type ImportedModule, Imports } from "../print/imports.ts";
import type { Documented } from "../print/jsdoc.ts";
import { methodName, Scope, unbindable } from "../print/names.ts";
import { type Position, servicePath } from "./comments.ts";
import { jsonMessages } from "./json-messages.ts";
import type { MessageOutline, Messages, Tools } from "./message-types.ts";
import { pbMessages } from "./pb-messages.ts";

export interface FileOutline {
  readonly services: readonly ServiceOutline[];
  /** The types of messages that the file declares itself. */
  readonly messages: readonly Declaration[];
  readonly imports: Imports;
  readonly runtime: ImportedModule;
}

export interface ServiceOutline extends Documented {
  readonly service: DescService;
  readonly client: string;
  readonly handler: string;
  readonly definition: string;
  readonly factory: string;
  readonly base: string;
  readonly fake: string;
  /** The name of the interface that declares the functions of a fake client. */
  readonly fakeMethods: string;
  readonly methods: readonly MethodOutline[];
  /** Rpcs that are not generated, because these messages do not support them. */
  readonly leftOut: readonly DescMethod[];
  /** The position of its name in the proto file. */
  readonly position: Position | undefined;
}

export interface MethodOutline extends Documented {
  readonly method: DescMethod;
  /** The method's name in client and handler. */
  readonly name: string;
  /** The name of the exported constant that defines the method. */
  readonly constant: string;
  /** The expression for the method's descriptor; `undefined` without the option `descriptors`. */
  readonly descriptor: (() => string) | undefined;
  readonly input: MessageOutline;
  readonly output: MessageOutline;
  readonly position: Position | undefined;
}

const { number: nameField } = ServiceDescriptorProtoSchema.field.name;
const { number: methodField } = ServiceDescriptorProtoSchema.field.method;

/**
 * Outlines the file with the output path `path`. Exported names differ from all names that protoc-gen-es exports for
 * the proto file, imported or not, so that one barrel file can export both modules. The messages of this file claim
 * their names before those of other files, so that a new rpc with an imported message does not rename existing types.
 */
export function outline(file: DescFile, path: string, tools: Tools): FileOutline {
  const { options, pb, textOf } = tools;
  const text = textOf(file);
  // Plain JSON is supported over `fetch` only, which cannot send a stream of requests.
  const isOffered = ({ methodKind }: DescMethod) =>
    options.messages === "pb" || methodKind === "unary" || methodKind === "server_streaming";
  const exported = new Scope([...unbindable, ...(options.messages === "pb" ? pb.exports(file) : [])]);
  const drafts = file.services.map((service, index) => ({
    service,
    client: exported.claim(`${service.name}Client`),
    handler: exported.claim(`${service.name}Handler`),
    definition: exported.claim(`${service.name}Def`),
    factory: exported.claim(`create${service.name}Client`),
    origin: String(service),
    deprecated: service.deprecated || file.deprecated,
    comment: text.comment(servicePath(index)),
    position: text.position([...servicePath(index), nameField]),
    leftOut: service.methods.filter((method) => !isOffered(method)),
    methods: service.methods.flatMap((method, methodIndex) => {
      const path = [...servicePath(index), methodField, methodIndex];
      const draft = () => ({
        method,
        name: methodName(method),
        constant: exported.claim(`${service.name}_${methodName(method)}`),
        origin: String(method),
        deprecated: method.deprecated || service.deprecated || file.deprecated,
        comment: text.comment(path),
        position: text.position([...path, nameField]),
      });
      return isOffered(method) ? [draft()] : [];
    }),
  }));

  const methods = drafts.flatMap((service) => service.methods.map(({ method }) => method));
  const used = [...new Set(methods.flatMap(({ input, output }) => [input, output]))];
  const messages: Messages =
    options.messages === "pb" ? pbMessages(file, used, exported, tools) : jsonMessages(file, used, exported, tools);
  const withExtras = drafts.map((service) => ({
    ...service,
    base: options.serverBase ? exported.claim(`${service.service.name}Base`) : "",
    fake: options.fakes ? exported.claim(`createFake${service.service.name}`) : "",
    fakeMethods: options.fakes ? exported.claim(`${service.service.name}Fake`) : "",
  }));

  const imports = new Imports(path, new Scope([...unbindable, ...exported.claimed]), options);
  const runtime = imports.module(options.runtimeImport);
  const { declarations, of } = messages(imports, runtime);
  const descriptorOf = (method: DescMethod): (() => string) => {
    const { schema, from } = pb.service(method.parent);
    const module = imports.module(from);
    module.reserve(schema);
    return () => `${module.value(schema)}.method.${method.localName}`;
  };
  const services = withExtras.map((service) => ({
    ...service,
    methods: service.methods.map((m) => ({
      ...m,
      input: of(m.method.input),
      output: of(m.method.output),
      descriptor: options.descriptors ? descriptorOf(m.method) : undefined,
    })),
  }));
  return { services, messages: declarations, imports, runtime };
}
