/**
 * Generic calls on a server: `$invoke` and `$invokeAsync`, which are equal on the wire, at the path of every service. The called
 * method has its own hooks, interceptors and limit of running calls.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import {
  type CallRequest,
  type CallResponse,
  Code,
  type ProtoMethod,
  type Router,
  RpcError,
  type Selector,
} from "triple-es";
import type { CallingResource, Handler, MethodRouter, Payload } from "triple-es/internal";
import { valuesOf } from "../arguments.ts";
import { Cost } from "../cost.ts";
import { erasedNames } from "../definition.ts";
import { thrownException } from "../exception.ts";
import { interfacePayload } from "../payload.ts";
import { isInterfaceMethod, type Signature } from "../signature.ts";
import { orInvalid, show } from "../type.ts";
import { chooseOverload } from "../wrapper/server.ts";
import { GENERIC, type GenericMode, invokeOf, toGenericException } from "./method.ts";
import { toGeneric } from "./values.ts";

/** The arguments of `$invoke`: each may be null. */
type Invocation = readonly [name: string | null, types: readonly string[] | null, args: readonly unknown[] | null];

type Codecs = MethodRouter["options"]["codecs"];
type Limits = Pick<Handler["limits"], "maxMessageValues">;

/** The conversion between the values of a generic call and the messages of the called method. */
interface Conversion {
  toMessage(args: readonly unknown[]): object;
  toResult(message: object): unknown;
}

/**
 * Adds generic calls to a router or server: `$invoke` and `$invokeAsync` of all its services, by which consumers of Dubbo call
 * unary methods without the types of a service. Interface methods take values, methods of proto files one text in JSON. The
 * option `authorize` and interceptors see the called method, when its arguments have been received. Of its limits, those of
 * running calls and of values apply; those of size and time are the server's.
 */
export function addGenericCalls(router: Router): void {
  router.mount(new GenericServer());
}

class GenericServer implements CallingResource {
  readonly #handlers = new Map<string, Handler>();
  /** The versions and groups of each service. */
  readonly #selectors = new Map<string, Selector[]>();
  #router!: MethodRouter;

  readonly onMount = (router: MethodRouter): void => {
    this.#router = router;
  };

  readonly onAdd: NonNullable<CallingResource["onAdd"]> = ({ service: { typeName, methods }, selector }) => {
    const aliases = Object.values(methods).flatMap(({ alias }) => (alias === undefined ? [] : [alias.service]));
    for (const service of new Set([typeName, ...aliases])) {
      this.#selectors.set(service, [...(this.#selectors.get(service) ?? []), selector]);
      const handler = this.#handlerOf(service);
      for (const name of ["$invoke", "$invokeAsync"]) this.#handlers.set(`/${service}/${name}`, handler);
    }
  };

  readonly serves: CallingResource["serves"] = ({ method, path }) => method === "POST" && this.#handlers.has(path);

  readonly exchange: CallingResource["exchange"] = (request) => {
    const [path = ""] = request.path.split("?", 1);
    return this.#router.answer(request, this.#handlers.get(path));
  };

  /** The handler of `$invoke`. Its limits are those of the router: the called method is not known before the message is. */
  #handlerOf(service: string): Handler {
    return {
      method: invokeOf(service),
      payload: (interfacePayload as Payload).server,
      call: (request) => this.#call(service, request),
      authorize: undefined,
      bodies: [],
      csrf: true,
      limits: this.#router.options,
    };
  }

  async #call(service: string, { headers, selector, context, ...request }: CallRequest): Promise<CallResponse> {
    const [name, types, given] = (request as { readonly message: object }).message as Invocation;
    const handler = this.#find(service, name?.trim() ?? "", types, selector);
    const { method } = handler;
    await (handler.shedding ?? handler).authorize?.({ method, headers, selector, context });
    const conversion = conversionOf(handler, headers.get(GENERIC) || "true", this.#router.options.codecs);
    // Every error in the arguments is the caller's.
    const message = orInvalid(`the arguments of ${method.path} are invalid`, () =>
      conversion.toMessage(given ?? types?.map(() => null) ?? []),
    );
    try {
      const response = await handler.call({ stream: false, method, message, headers, selector, context });
      if (response.stream) throw new TypeError(`${method.path} is a stream`);
      return { ...response, message: [conversion.toResult(response.message)] };
    } catch (error) {
      const exception = thrownException(error);
      throw exception === undefined ? error : toGenericException(exception);
    }
  }

  /** Finds the method. In proto files names begin in upper case, in Java in lower case. */
  #find(service: string, name: string, types: readonly string[] | null, selector: Selector): Handler {
    const { find } = this.#router;
    const upper = name.charAt(0).toUpperCase() + name.slice(1);
    const first = find(`/${service}/${name}`, selector) ?? find(`/${service}/${upper}`, selector);
    if (first?.method.kind !== "unary") {
      const wanted = textOf(selector);
      const served = (this.#selectors.get(service) ?? []).map(textOf);
      const problem = served.includes(wanted)
        ? `has no unary method ${show(name)}`
        : `is served with ${served.join(" or ")}, not with ${wanted}`;
      throw new RpcError(Code.Unimplemented, `${service} ${problem}`);
    }
    const all = [first, ...(first.overloads ?? [])];
    if (all.length === 1) return first;
    if (types === null) {
      throw new RpcError(Code.InvalidArgument, `${first.method.path} has overloads: send the types of the parameters`);
    }
    const methods = all.map(({ method }) => method);
    // Consoles send the names in the definition of the service, such as `int[]`.
    const chosen = methods.find((one) => `${erasedNames(one)}` === `${types}`) ?? chooseOverload(methods, types);
    return all.find(({ method }) => method === chosen) as Handler;
  }
}

const textOf = ({ version, group }: Selector): string =>
  `${version ? `version ${show(version)}` : "no version"} and ${group ? `group ${show(group)}` : "no group"}`;

/** Returns the conversion for a method and a mode. Throws `unimplemented` for a mode that the method does not support. */
function conversionOf({ method, limits }: Handler, mode: string, codecs: Codecs): Conversion {
  const values: GenericMode = "true";
  const json: GenericMode = "protobuf-json";
  if (isInterfaceMethod(method) && mode.toLowerCase() === values) return ofValues(method.signature, limits);
  if (method.input !== undefined && mode === json) return ofJson(method, limits, codecs);
  const supported = isInterfaceMethod(method) ? values : json;
  const message = `${method.path}: the header ${GENERIC} is ${show(mode)}, supported is ${supported}`;
  throw new RpcError(Code.Unimplemented, message);
}

function ofValues(signature: Signature, { maxMessageValues }: Limits): Conversion {
  const { parameters, result } = signature;
  return {
    toMessage(args) {
      if (args.length !== parameters.length)
        throw new Error(`${args.length} were sent, and it takes ${parameters.length}`);
      return valuesOf(signature, [args as JsonValue[]], new Cost(maxMessageValues)).values;
    },
    toResult: (message) => (result === "void" ? null : toGeneric(result, (message as readonly unknown[])[0])),
  };
}

/** The message of a proto file in JSON is the only argument. */
function ofJson({ input, output }: ProtoMethod, { maxMessageValues }: Limits, codecs: Codecs): Conversion {
  const codec = codecs.find(({ name }) => name === "json");
  if (codec === undefined) throw new RpcError(Code.Unimplemented, "the server has no codec json");
  return {
    toMessage(args) {
      const [text] = args;
      if (typeof text !== "string" || args.length !== 1) throw new Error("the only one must be a message as JSON text");
      const bytes = new TextEncoder().encode(text);
      new Cost(maxMessageValues).addJson(bytes);
      return codec.decode(input, bytes);
    },
    toResult: (message) => new TextDecoder().decode(codec.encode(output, message)),
  };
}
