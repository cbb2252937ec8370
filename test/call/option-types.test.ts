/** Options of the wrong type, of callers without a type checker: the error names the option and a valid value. */
import { type CorsOptions, createInMemoryTransport, createRetry, createRouter, type ServiceOptions } from "triple-es";
import { dns, fixed, kubernetes } from "triple-es/discovery";
import { createTransport as createFetchTransport, fetchHandler } from "triple-es/fetch";
import { createTransport as createJsonTransport } from "triple-es/json";
import { createRouter as createNodeRouter, createServer, createTransport, nodeHandler } from "triple-es/node";
import { createTransport as createProtoTransport } from "triple-es/proto";
import { describe, expect, it } from "vitest";
import { GreetServiceDef, type GreetServiceHandler } from "../../examples/gen/greet/v1/greet_triple.ts";
import { greeter } from "../support/server.ts";

const WRONG = [null, "text", 5, true, []];

const https = (options: object): unknown => createTransport({ baseUrl: "https://127.0.0.1:9", ...options });
const balanced = (options: object): unknown => createTransport({ resolver: fixed(["127.0.0.1:9"]), ...options });

/** The functions that take the option, and the part of the error that says what is valid. */
const OBJECTS: readonly (readonly [name: string, create: (options: object) => unknown, valid: RegExp])[] = [
  ["createServer: tls", (options) => createServer(options), /^tls must be an object, such as \{ key, cert \}/],
  ["createServer: cors", (options) => createServer(options), /^cors takes \{ origins: /],
  ["createServer: limits", (options) => createServer(options), /^limits must be an object with some of: maxStreams, /],
  ["createServer: bodyLimits", (options) => createServer(options), /^bodyLimits must be an object with some of: parts/],
  ["createServer: headerLimits", (options) => createServer(options), /^headerLimits must be an object with some of: /],
  ["createServer: trustProxy", (options) => createServer(options), /^trustProxy takes \{ addresses: /],
  ["createServer: fallback", (options) => createServer(options), /^fallback must be a function .* or an object/],
  ["createServer: registry", (options) => createServer(options), /^registry must be an object, such as createRegistry/],
  ["createRouter: cors", (options) => createRouter(options), /^cors takes \{ origins: /],
  ["createRouter: registry", (options) => createRouter(options), /^registry must be an object, such as createRegistry/],
  ["createTransport: tls", https, /^tls must be an object, such as .*\{ ca \}/],
  ["createTransport: headerLimits", https, /^headerLimits must be an object with some of: /],
  ["createTransport: retry", https, /^retry must be an object with some of: maxAttempts, /],
  ["createTransport: tls, of endpoints", balanced, /^tls must be an object, such as .*\{ ca \}/],
  ["createTransport: ejection", balanced, /^ejection must be an object with some of: failures, /],
  ["createRetry: budget", (options) => createRetry(options), /^budget must be an object with some of: ratio, /],
];

const ARRAYS: readonly (readonly [name: string, create: (options: object) => unknown])[] = [
  ["createServer: codecs", (options) => createServer(options)],
  ["createServer: compressions", (options) => createServer(options)],
  ["createServer: interceptors", (options) => createServer(options)],
  ["createServer: serializations", (options) => createServer(options)],
  ["createRouter: interceptors", (options) => createRouter(options)],
  ["createTransport: compressions", https],
  ["createTransport: interceptors", https],
  ["createTransport: serializations", https],
  ["add: interceptors", (options) => add(options)],
  ["createRetry: codes", (options) => createRetry(options)],
];

const BOOLEANS: readonly (readonly [name: string, create: (options: object) => unknown])[] = [
  ["createServer: webSocket", (options) => createServer(options)],
  ["createServer: requireTe", (options) => createServer(options)],
  ["createTransport: javaNames", https],
  ["createTransport: waitForReady", https],
];

const FUNCTIONS: readonly (readonly [name: string, create: (options: object) => unknown])[] = [
  ["createServer: onTlsError", (options) => createServer(options)],
  ["createServer: values", (options) => createServer(options)],
  ["createServer: authorize", (options) => createServer(options)],
  ["createServer: shedLoad", (options) => createServer(options)],
  ["add: authorize", (options) => add(options)],
  ["fetchHandler: values", (options) => fetchHandler(createRouter(), options)],
  ["fetchHandler: peer", (options) => fetchHandler(createRouter(), options)],
  ["nodeHandler: values", (options) => nodeHandler(createRouter(), options)],
  ["createRetry: onRetry", (options) => createRetry(options)],
  ["createTransport: onRetry", https],
  ["createTransport: connect", (options) => createTransport({ baseUrl: "http://127.0.0.1:9", ...options })],
  ["createTransport: onTransparentRetry", https],
  ["createTransport: onTransparentRetry, of endpoints", balanced],
  ["createTransport: onEndpoint", balanced],
  ["kubernetes: token", (options) => kubernetes("greet", options)],
  ["createRouter: onError", (options) => createRouter(options)],
  ["createServer: onError", (options) => createServer(options)],
  ["createRetry: applies", (options) => createRetry(options)],
  ["createTransport: balancer", balanced],
];

function optionOf(name: string): string {
  return (/: (\w+)/.exec(name) as RegExpExecArray)[1] as string;
}

describe("an option of the wrong type is refused by name:", () => {
  it.each(OBJECTS)("%s", (name, create, valid) => {
    for (const value of WRONG) {
      const call = (): unknown => create({ [optionOf(name)]: value });
      expect(call, JSON.stringify(value)).toThrow(TypeError);
      expect(call, JSON.stringify(value)).toThrow(valid);
    }
  });

  it.each(ARRAYS)("%s", (name, create) => {
    for (const [value, kind] of [
      [null, "null"],
      ["text", "a string"],
      [5, "a number"],
      [{}, "an object"],
    ]) {
      const call = (): unknown => create({ [optionOf(name)]: value });
      expect(call).toThrow(new TypeError(`${optionOf(name)} must be an array, not ${kind}`));
    }
  });

  it.each(BOOLEANS)("%s", (name, create) => {
    for (const value of [null, "false", 0]) {
      const message = `${optionOf(name)} must be in [true,false], not ${JSON.stringify(value)}`;
      expect(() => create({ [optionOf(name)]: value })).toThrow(new TypeError(message));
    }
  });

  it.each(FUNCTIONS)("%s", (name, create) => {
    for (const value of [null, "text", {}]) {
      const message = `${optionOf(name)} must be a function, not ${JSON.stringify(value)}`;
      expect(() => create({ [optionOf(name)]: value })).toThrow(new TypeError(message));
    }
  });

  it.each(["codecs", "compressions", "serializations"])("an element of %s", (name) => {
    const takers = name === "codecs" ? [createServer, createRouter] : [createServer, createRouter, https];
    for (const create of takers) {
      for (const value of [null, undefined, 5, "gzip", {}]) {
        const message = `${name}: the name undefined must be a token in lower case, such as "gzip"`;
        expect(() => create({ [name]: [value] })).toThrow(new TypeError(message));
      }
    }
  });

  it.each([5, null, "api", {}])("the prefix %j", (prefix) => {
    for (const create of [fetchHandler, nodeHandler]) {
      const message = `prefix "${prefix}" must start with "/"`;
      expect(() => create(createRouter(), { prefix: prefix as never })).toThrow(new TypeError(message));
    }
  });

  it("a size that is a text, such as that of a variable of the environment", () => {
    for (const create of [createServer, https]) {
      const message = 'maxMessageBytes must be 0 or more, not "1000"';
      expect(() => create({ maxMessageBytes: "1000" as never })).toThrow(new TypeError(message));
    }
    expect(() => createServer({ maxBufferedBytes: "999999999" as never })).toThrow("must be a number of bytes");
  });

  it("a private key is not printed", () => {
    const tls = "-----BEGIN PRIVATE KEY-----" as never;
    const message = "tls must be an object, such as { key, cert } or { ca }, not a string";
    expect(() => createServer({ tls })).toThrow(new TypeError(message));
  });

  it("undefined is the default", () => {
    for (const [name, create] of [...OBJECTS, ...ARRAYS, ...BOOLEANS, ...FUNCTIONS])
      create({ [optionOf(name)]: undefined });
  });
});

const add = (options: object): unknown => createRouter().add(GreetServiceDef, greeter, options as ServiceOptions);

describe("an unknown option is refused, with the name that was probably meant:", () => {
  it.each<readonly [string, (options: object) => unknown, string, string]>([
    ["createServer", (options) => createServer(options), "inteceptors", "interceptors"],
    ["createServer", (options) => createServer(options), "fallBack", "fallback"],
    ["createRouter", (options) => createRouter(options), "codec", "codecs"],
    ["createRouter", (options) => createNodeRouter(options), "consol", "console"],
    ["createTransport", https, "timeoutMS", ""],
    ["createTransport", balanced, "ballancer", "balancer"],
    ["createInMemoryTransport", (options) => createInMemoryTransport(createRouter(), options), "protocoll", "protocol"],
    ["add", add, "limit", "limits"],
    ["dns", (options) => dns("greet.example:1", options), "server", "servers"],
    ["kubernetes", (options) => kubernetes("greet", options), "namespaces", "namespace"],
  ])("%s", (taker, create, written, meant) => {
    const error = meant === "" ? `"${written}" is not among: ` : `there is no "${written}", did you mean "${meant}"?`;
    expect(() => create({ [written]: [] })).toThrow(`the options of ${taker}: ${error}`);
  });

  it("routers of createRouter do not take the options of sockets", () => {
    expect(() => createNodeRouter({ tls: {} } as object)).toThrow('the options of createRouter: "tls" is not among: ');
  });

  it.each<readonly [string, (options: object) => unknown, object, string]>([
    ["fetchHandler", (options) => fetchHandler(createRouter(), options), { prefx: "/api" }, '"prefix"'],
    ["nodeHandler", (options) => nodeHandler(createRouter(), options), { trustProxys: {} }, '"trustProxy"'],
  ])("%s", (taker, create, options, meant) => {
    expect(() => create(options)).toThrow(`the options of ${taker}: there is no`);
    expect(() => create(options)).toThrow(`did you mean ${meant}?`);
  });

  it("cors", () => {
    const cors = { origins: "*", credential: true } as object as CorsOptions;
    expect(() => createRouter({ cors })).toThrow('cors: there is no "credential", did you mean "credentials"?');
  });

  it.each(["balancer", "subset", "warmUpMs", "keepUnlistedMs", "ejection", "onEndpoint"])(
    "%s beside baseUrl, where it has no effect",
    (name) => {
      expect(() => https({ [name]: 1 })).toThrow(
        new TypeError(`${name} needs a resolver or a registry, and has no effect beside baseUrl`),
      );
    },
  );

  it.each<[string, (options: never) => unknown]>([
    ["fetch", createFetchTransport],
    ["json", createJsonTransport],
    ["proto", createProtoTransport],
  ])("createTransport() of triple-es/%s", (_, create) => {
    expect(() => create(undefined as never)).toThrow(/^baseUrl "undefined" must start with http/);
  });

  it.each([undefined, null, "http://a"])("createTransport(%j)", (options) => {
    expect(() => createTransport(options as never)).toThrow(
      /^the options of createTransport must be an object with some of: baseUrl, /,
    );
  });
});

describe("an implementation", () => {
  const { greet, ...others } = greeter;
  const addOf = (implementation: object) => () =>
    createRouter().add(GreetServiceDef, implementation as GreetServiceHandler);

  it("may lack methods, but not by mistake", () => {
    expect(addOf(others)).not.toThrow();
    expect(addOf({ ...others, greett: greet })).toThrow(
      new TypeError("the implementation of greet.v1.GreetService lacks greet; it has greett"),
    );
    expect(addOf({ ...greeter, greet: "Hello" })).toThrow("lacks greet, which must be a function");
    class Greeter {
      Greet(): void {}
      greetEach(): void {}
    }
    expect(addOf(new Greeter())).toThrow("lacks greet; it has Greet");
    expect(addOf({ list: greet })).toThrow("has none of its methods: greet, greetEach, greetTogether, greetOnArrival");
  });

  it("may have others, and inherit its methods", () => {
    class Greeter {
      greet = greet;
      helper(): void {}
    }
    Object.assign(Greeter.prototype, others);
    expect(addOf(new Greeter())).not.toThrow();
  });
});
