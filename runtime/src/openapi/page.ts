/**
 * The script of the page of the option `console`: starts Swagger UI with a plugin that calls streaming methods over
 * gRPC-Web, with the client of this package. `scripts/build.js` bundles it for browsers.
 */
import { RpcError } from "../call/error.ts";
import { type CallOptions, createStub, type ServerStreamingMethod } from "../client/client.ts";
import { connectFetch } from "../fetch/exchange.ts";
import { createGrpcWebCall } from "../grpc/web-client.ts";
import { resolveUnaryOptions } from "../protocol/options.ts";
import { noCodec, plainJson } from "../protocol/plain-json.ts";
import { type AuthorizedScheme, authorizationFields } from "./authorization.ts";
import { curlLine, grpcurlLine, type LineOptions } from "./command-line.ts";

/** The part of React that the page uses. Swagger UI contains it. */
interface ReactLike {
  createElement(type: unknown, props: object | null, ...children: unknown[]): unknown;
  useState<S>(initial: S): [S, (update: S | ((before: S) => S)) => void];
  useRef<T>(initial: T): { current: T };
}

/** A collection of Immutable.js, as Swagger UI stores documents and values. */
interface Collection<T> {
  toJS(): T;
}

interface UiSystem {
  readonly React: ReactLike;
  readonly authSelectors: { authorized(): Collection<Record<string, AuthorizedScheme>> | undefined };
  readonly specSelectors: {
    specJson(): { getIn(path: readonly string[]): unknown };
    parameterValues(operation: readonly [path: string, method: string]): Collection<Record<string, unknown>>;
    security(): Collection<Record<string, unknown>[]> | undefined;
  };
  readonly oas3Selectors: { requestBodyValue(path: string, method: string): unknown };
}

interface OperationProps {
  readonly path: string;
  readonly method: string;
}

interface SummaryProps {
  readonly operationProps: { get(name: "path" | "method"): string };
}

interface ResponseProps {
  readonly response?: { set(name: string, value: unknown): unknown };
}

declare const SwaggerUIBundle: (options: object) => unknown;
declare const location: { readonly origin: string; readonly pathname: string };

const prefix = location.pathname.replace(/\/[^/]*$/, "");
const call = createGrpcWebCall(connectFetch({ baseUrl: `${prefix}/` }), noCodec, resolveUnaryOptions({}));

/** Maximum number of messages on the page: the oldest ones are removed. */
const MAX_SHOWN = 1_000;

/** Calls a server streaming method with a message in JSON. */
function callMethod(path: string, message: object, options: CallOptions): AsyncIterable<object> {
  const [, service = "", name = ""] = path.split("/");
  const method: ServerStreamingMethod<object, object> = {
    kind: "server_streaming",
    service,
    name,
    path,
    payload: plainJson,
  };
  return createStub(method, { call })(message, options);
}

/** Returns the options of a call from the values of an operation's header parameters, and its other headers. */
function callOptionsOf(values: Record<string, unknown>, headers: Record<string, string>): LineOptions {
  const given = (name: string): string | undefined => (values[`header.${name}`] || undefined) as string | undefined;
  const timeout = given("tri-service-timeout");
  return {
    headers,
    version: given("tri-service-version"),
    group: given("tri-service-group"),
    timeoutMs: timeout === undefined ? undefined : Number(timeout),
  };
}

/** The contents of the panel of a method. */
interface Progress {
  readonly messages: readonly string[];
  readonly state: string;
  readonly isRunning: boolean;
}

/** The labels of streaming methods in the list of operations. */
const STREAM_LABELS: Readonly<Record<string, string>> = {
  server: "server stream",
  client: "client stream",
  bidi: "bidirectional stream",
};

/** Marks streaming methods in the list, and replaces the buttons that execute them by panels. */
function streamingPlugin({ React, authSelectors, specSelectors, oas3Selectors }: UiSystem): object {
  const { createElement: h, useState, useRef } = React;

  function readOptions({ path, method }: OperationProps): LineOptions {
    const requirements = specSelectors.security()?.toJS() ?? [];
    const authorized = authSelectors.authorized()?.toJS() ?? {};
    const values = specSelectors.parameterValues([path, method]).toJS();
    return callOptionsOf(values, authorizationFields(requirements, authorized));
  }

  function ServerStreaming(props: OperationProps): unknown {
    const { path, method } = props;
    const [{ messages, state, isRunning }, show] = useState<Progress>({ messages: [], state: "", isRunning: false });
    const controller = useRef<AbortController | undefined>(undefined);
    const readBody = (): string => String(oas3Selectors.requestBodyValue(path, method) ?? "{}");

    async function start(): Promise<void> {
      controller.current?.abort();
      const started = new AbortController();
      controller.current = started;
      // A later call replaces what the page shows.
      const update: typeof show = (next) => (controller.current === started ? show(next) : undefined);
      update({ messages: [], state: "running", isRunning: true });
      try {
        const options = { ...readOptions(props), signal: started.signal };
        for await (const message of callMethod(path, JSON.parse(readBody()), options)) {
          const text = JSON.stringify(message, undefined, 2);
          update((before) => ({ ...before, messages: [...before.messages.slice(1 - MAX_SHOWN), text] }));
        }
        update((before) => ({ ...before, state: "the stream has ended", isRunning: false }));
      } catch (error) {
        const text =
          error instanceof SyntaxError ? `the request is not JSON: ${error.message}` : RpcError.from(error).message;
        update((before) => ({ ...before, state: text, isRunning: false }));
      }
    }

    return h(
      "div",
      { className: "execute-wrapper", style: { textAlign: "left" } },
      h(
        "button",
        { className: "btn execute opblock-control__btn", onClick: () => void start() },
        isRunning ? "Restart stream" : "Start stream",
      ),
      isRunning &&
        h("button", { className: "btn cancel", onClick: () => controller.current?.abort() }, "Cancel stream"),
      h("h4", null, "Curl"),
      h(
        "pre",
        { className: "curl microlight triple-curl" },
        curlLine(`${location.origin}${prefix}${path}`, readBody(), readOptions(props)),
      ),
      state !== "" && h("h4", { className: "triple-state" }, `${messages.length} messages: ${state}`),
      ...messages.map((text, index) => h("pre", { className: "microlight triple-message", key: index }, text)),
    );
  }

  function OtherStreaming(props: OperationProps): unknown {
    const { path, method } = props;
    const body = String(oas3Selectors.requestBodyValue(path, method) ?? "{}");
    return h(
      "div",
      { className: "execute-wrapper", style: { textAlign: "left" } },
      h("h4", null, "Browsers cannot send streams. With grpcurl, whose input has one or more messages:"),
      h(
        "pre",
        { className: "curl microlight triple-curl" },
        grpcurlLine(location.origin, path, body, readOptions(props)),
      ),
    );
  }

  const streamOf = (path: string, method: string): unknown =>
    specSelectors.specJson().getIn(["paths", path, method, "x-streaming"]);

  const wrap = (Original: unknown) => (props: OperationProps) => {
    const kind = streamOf(props.path, props.method);
    // Routes of REST do not support streams; the server says so.
    if (kind === undefined || props.method !== "post" || props.path.split("/").length !== 3) return h(Original, props);
    return h(kind === "server" ? ServerStreaming : OtherStreaming, props);
  };

  const withLabel = (Original: unknown) => (props: SummaryProps) => {
    const { operationProps } = props;
    const label = STREAM_LABELS[String(streamOf(operationProps.get("path"), operationProps.get("method")))];
    return [
      h(Original, { ...props, key: "path" }),
      label !== undefined && h("span", { className: "triple-stream", key: "stream" }, label),
    ];
  };

  // Swagger UI does not look for ranges such as 4XX, with which every operation documents its errors.
  const asDocumented = (Original: unknown) => (props: ResponseProps) =>
    h(Original, { ...props, response: props.response?.set("notDocumented", false) });

  return { wrapComponents: { execute: wrap, OperationSummaryPath: withLabel, liveResponse: asDocumented } };
}

SwaggerUIBundle({
  dom_id: "#ui",
  url: `${prefix}/triple/openapi.json`,
  validatorUrl: null,
  tryItOutEnabled: true,
  deepLinking: true,
  plugins: [streamingPlugin],
});
