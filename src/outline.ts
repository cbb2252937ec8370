/** The outline of a generated file: its messages and services, with every identifier and comment settled. */
import type { DescFile, DescMessage, DescMethod, DescService } from "@bufbuild/protobuf";
import { type Documented, indexComments } from "./comments.ts";
import { Imports, type PathOptions } from "./imports.ts";
import { memo } from "./memo.ts";
import { methodName, Scope, unbindable } from "./names.ts";
import type { PbNames } from "./pb.ts";

export interface FileOutline {
  /** In order of first use. */
  readonly messages: readonly MessageOutline[];
  readonly services: readonly ServiceOutline[];
  readonly imports: Imports;
}

/** A message that a service of the file takes or returns, under its names in the file. */
export interface MessageOutline {
  readonly message: DescMessage;
  readonly shape: string;
  readonly schema: string;
  /** The exported alias for what may be passed as the message. */
  readonly init: string;
}

export interface ServiceOutline extends Documented {
  readonly service: DescService;
  readonly client: string;
  readonly handler: string;
  readonly definition: string;
  readonly factory: string;
  readonly methods: readonly MethodOutline[];
}

export interface MethodOutline extends Documented {
  readonly method: DescMethod;
  /** Its name in client and handler. */
  readonly name: string;
  /** The exported constant that describes it. */
  readonly constant: string;
  readonly input: MessageOutline;
  readonly output: MessageOutline;
}

/**
 * Outlines the file that is to be written to `path`. Exported names stay clear of all names protoc-gen-es exports for
 * the proto file, imported or not, so that one barrel can export both files. The file's own messages choose their names
 * before those of other files, so that a new rpc with a message from elsewhere does not rename what is there.
 */
export function outline(file: DescFile, path: string, pb: PbNames, options: PathOptions): FileOutline {
  const comments = indexComments(file);
  const exported = new Scope([...unbindable, ...pb.exports(file)]);
  const services = file.services.map((service, index) => ({
    service,
    client: exported.claim(`${service.name}Client`),
    handler: exported.claim(`${service.name}Handler`),
    definition: exported.claim(`${service.name}Def`),
    factory: exported.claim(`create${service.name}Client`),
    origin: String(service),
    deprecated: service.deprecated || file.deprecated,
    comment: comments.service(index),
    methods: service.methods.map((method, methodIndex) => ({
      method,
      name: methodName(method),
      constant: exported.claim(`${service.name}_${methodName(method)}`),
      origin: String(method),
      deprecated: method.deprecated || service.deprecated || file.deprecated,
      comment: comments.method(index, methodIndex),
    })),
  }));

  const used = [...new Set(file.services.flatMap(({ methods }) => methods.flatMap((m) => [m.input, m.output])))];
  const ownFirst = [...used.filter((m) => m.file === file), ...used.filter((m) => m.file !== file)];
  const initOf = memo((message: DescMessage) => exported.claim(`${pb.message(message).shape}Init`));
  ownFirst.forEach(initOf);

  const imports = new Imports(path, new Scope([...unbindable, ...exported.claimed]), options);
  const messageOf = memo((message: DescMessage): MessageOutline => {
    const { shape, schema, from } = pb.message(message);
    const module = imports.module(from);
    return { message, init: initOf(message), shape: module.type(shape), schema: module.value(schema) };
  });
  ownFirst.forEach(messageOf);

  const withMessages = (m: Omit<MethodOutline, "input" | "output">): MethodOutline => ({
    ...m,
    input: messageOf(m.method.input),
    output: messageOf(m.method.output),
  });
  return {
    messages: used.map(messageOf),
    services: services.map((service) => ({ ...service, methods: service.methods.map(withMessages) })),
    imports,
  };
}
