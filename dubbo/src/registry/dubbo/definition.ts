/**
 * Definitions of services, their methods and their types, which providers store in the registry for Dubbo's consoles: the
 * `FullServiceDefinition` of Dubbo for Java in JSON, as its `ServiceDefinitionBuilder` makes it of an interface. They are never
 * deleted.
 */
import { type DescField, type DescMessage, type JsonObject, ScalarType } from "@bufbuild/protobuf";
import { Code, type Method, RpcError } from "triple-es";
import type { Instance, OfferedService, Registration, RegistrationEvent } from "triple-es/discovery";
import { callHook, type Payload } from "triple-es/internal";
import { keepRegistered, type Session } from "../registration.ts";
import { RELEASE, serviceParameters } from "./provider-url.ts";
import type { Store } from "./source.ts";

type Types = Map<string, JsonObject>;

/** The maximum length of a definition, in characters: ZooKeeper closes connections that send more than 1 MiB. */
const MAX_DEFINITION_LENGTH = 300_000;
/** The type of streams in Java, without its type argument, which definitions leave out. */
const STREAM = "org.apache.dubbo.common.stream.StreamObserver";
/** The types in Java of the scalar types that are not integers. */
const NOT_INTEGERS: ReadonlyMap<ScalarType, string> = new Map([
  [ScalarType.DOUBLE, "double"],
  [ScalarType.FLOAT, "float"],
  [ScalarType.BOOL, "boolean"],
  [ScalarType.STRING, "java.lang.String"],
  [ScalarType.BYTES, "com.google.protobuf.ByteString"],
]);

/**
 * Stores the definitions of an instance's services after it was registered, and again after the registry was lost. Attempts
 * that fail are repeated, and each reason is reported to `onEvent` once; they change nothing about the registration.
 */
export function withDefinitions<Entry>(
  registration: Registration,
  instance: Instance,
  { open, definition }: Pick<Store<Entry>, "open" | "definition">,
  onEvent: (event: RegistrationEvent) => void = () => {},
): Registration {
  const reported = new Set<string>();
  let stored: Registration | undefined;

  function report(reason: unknown): void {
    const { code, rawMessage } = RpcError.from(reason, Code.Unavailable);
    if (reported.has(rawMessage)) return;
    reported.add(rawMessage);
    const error = new RpcError(code, `definitions of services for consoles are not stored: ${rawMessage}`);
    callHook("the hook onRegistration", () => onEvent({ type: "failed", error }));
  }

  async function storeOne(offered: OfferedService, { lost }: Session): Promise<void> {
    const text = writeDefinition(instance.application, offered);
    if (text === undefined) return;
    const { length } = text;
    if (length > MAX_DEFINITION_LENGTH) {
      const problem = `that of ${offered.service} has ${length} characters, more than ${MAX_DEFINITION_LENGTH}`;
      return report(new RpcError(Code.ResourceExhausted, problem));
    }
    const stored = definition(offered, "provider", instance.application);
    await stored
      .change((content) => (content === text ? undefined : text))
      .catch((reason) => {
        if (!lost.aborted) report(reason);
        throw reason;
      });
  }

  function start(): void {
    if (registration.status() === "closed") return;
    const publish = async (session: Session): Promise<void> => {
      await Promise.all(instance.services.map((offered) => storeOne(offered, session)));
    };
    stored = keepRegistered({ open, publish, withdraw: async () => {} }, instance);
  }

  registration.ready.then(start, () => {});
  return {
    ...registration,
    close(options) {
      void stored?.close();
      return registration.close(options);
    },
  };
}

/** Writes the definition of a service. Returns `undefined` if none of its methods can be described. */
export function writeDefinition(application: string, offered: OfferedService): string | undefined {
  const types: Types = new Map();
  const methods = (offered.methods ?? []).flatMap((method) => defineMethod(method, types) ?? []);
  if (methods.length === 0) return undefined;
  const names = new Set(methods.map(({ name }) => name));
  return JSON.stringify({
    annotations: [],
    canonicalName: offered.service,
    codeSource: RELEASE,
    methods,
    // Without those of the instance: all instances of an application share the definition.
    parameters: { ...serviceParameters(application, offered), methods: [...names].join() },
    types: Array.from(types, ([type, parts]) => ({ type, enums: [], items: [], properties: {}, ...parts })),
  });
}

function defineMethod(method: Method, types: Types) {
  const { kind, alias, input, output, payload } = method;
  const names =
    input === undefined
      ? (payload as Payload).server?.define?.(method, types)
      : [defineMessage(input, types), defineMessage(output, types)];
  if (names === undefined) return undefined;
  // Dubbo's names of the methods of a proto file begin in lower case.
  const protoName = alias?.method ?? method.name.charAt(0).toLowerCase() + method.name.slice(1);
  const name = input === undefined ? method.name : protoName;
  let [parameterTypes, returnType] = [names.slice(0, -1), names.at(-1)];
  if (kind !== "unary") {
    const isOneWay = kind === "server_streaming";
    parameterTypes = [...(isOneWay ? parameterTypes : []), define(STREAM, {}, types)];
    returnType = isOneWay ? define("void", {}, types) : STREAM;
  }
  return { annotations: [], name, parameters: [], parameterTypes, returnType };
}

/** Adds a message and the types of its fields. Messages and enums have their names in the proto file, not those in Java. */
function defineMessage({ typeName, fields }: DescMessage, types: Types): string {
  if (types.has(typeName)) return typeName;
  // A message may contain itself.
  types.set(typeName, {});
  const properties = fields.map((field) => [field.jsonName, defineField(field, types)]);
  types.set(typeName, { properties: Object.fromEntries(properties) });
  return typeName;
}

function defineField(field: DescField, types: Types): string {
  if (field.fieldKind !== "map" && field.fieldKind !== "list") return defineValue(field, types, (name) => name);
  const key = field.fieldKind === "map" ? [define(boxed(scalarName(field.mapKey)), {}, types)] : [];
  const items = [...key, defineValue(field, types, boxed)];
  return define(`java.util.${field.fieldKind === "map" ? "Map" : "List"}<${items}>`, { items }, types);
}

function defineValue(field: DescField, types: Types, form: (scalar: string) => string): string {
  if (field.message !== undefined) return defineMessage(field.message, types);
  if (field.scalar !== undefined) return define(form(scalarName(field.scalar)), {}, types);
  return define(field.enum.typeName, { enums: field.enum.values.map(({ name }) => name) }, types);
}

/** Adds a type, unless it is there already. Returns its name. */
function define(name: string, parts: JsonObject, types: Types): string {
  if (!types.has(name)) types.set(name, parts);
  return name;
}

function scalarName(type: ScalarType): string {
  return NOT_INTEGERS.get(type) ?? (ScalarType[type].endsWith("64") ? "long" : "int");
}

function boxed(scalar: string): string {
  if (scalar === "int") return "java.lang.Integer";
  return scalar.includes(".") ? scalar : `java.lang.${scalar.charAt(0).toUpperCase()}${scalar.slice(1)}`;
}
