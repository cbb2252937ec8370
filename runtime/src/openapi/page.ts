/**
 * The script of the page of the option `console`: starts Swagger UI with a plugin that calls streaming methods over
 * gRPC-Web, with the client of this package. `scripts/build.js` bundles it for browsers.
 */
import { RpcError } from "../call/error.ts";
import type { CallOptions, ServerStreamingFunction } from "../client/client.ts";
import { createStub } from "../client/client.ts";
import { noCodec, plainJson } from "../codec/plain-json.ts";
import { connectFetch } from "../fetch/exchange.ts";
import { createGrpcWebCall } from "../grpc/web-client.ts";
import { resolveUnaryOptions } from "../protocol/options.ts";
import { curlLine, grpcurlLine } from "./command-line.ts";

/** The part of React that the page uses. Swagger UI contains it. */
interface ReactLike {
  createElement(type: unknown, props: object | null, ...children: unknown[]): unknown;
  useState<S>(initial: S): [S, (update: S | ((before: S) => S)) => void];
  useRef<T>(initial: T): { current: T };
}

interface UiSystem {
  readonly React: ReactLike;
  readonly specSelectors: {
    specJson(): { getIn(path: readonly string[]): unknown };
    parameterValues(operation: readonly [path: string, method: string]): { toJS(): Record<string, unknown> };
  };
  readonly oas3Selectors: { requestBodyValue(path: string, method: string): unknown };
}

interface OperationProps {
  readonly path: string;
  readonly method: string;
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
  const method = { kind: "server_streaming", service, name, path, payload: plainJson } as const;
  return createStub<ServerStreamingFunction<object, object>>(method, { call })(message, options);
}

/** Returns the options of a call from the values of an operation's header parameters. */
function callOptionsOf(values: Record<string, unknown>): CallOptions {
  const given = (name: string): string | undefined => (values[`header.${name}`] || undefined) as string | undefined;
  const timeout = given("tri-service-timeout");
  return {
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

/** Replaces the button that executes an operation by a panel, if the method is streaming. */
function streamingPlugin({ React, specSelectors, oas3Selectors }: UiSystem): object {
  const { createElement: h, useState, useRef } = React;

  function ServerStreaming({ path, method }: OperationProps): unknown {
    const [{ messages, state, isRunning }, show] = useState<Progress>({ messages: [], state: "", isRunning: false });
    const controller = useRef<AbortController | undefined>(undefined);
    const readBody = (): string => String(oas3Selectors.requestBodyValue(path, method) ?? "{}");
    const readOptions = (): CallOptions => callOptionsOf(specSelectors.parameterValues([path, method]).toJS());

    async function start(): Promise<void> {
      controller.current?.abort();
      const started = new AbortController();
      controller.current = started;
      // A later call replaces what the page shows.
      const update: typeof show = (next) => (controller.current === started ? show(next) : undefined);
      update({ messages: [], state: "running", isRunning: true });
      try {
        const options = { ...readOptions(), signal: started.signal };
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
        curlLine(`${location.origin}${prefix}${path}`, readBody(), readOptions()),
      ),
      state !== "" && h("h4", { className: "triple-state" }, `${messages.length} messages: ${state}`),
      ...messages.map((text, index) => h("pre", { className: "microlight triple-message", key: index }, text)),
    );
  }

  function OtherStreaming({ path, method }: OperationProps): unknown {
    const body = String(oas3Selectors.requestBodyValue(path, method) ?? "{}");
    const options = callOptionsOf(specSelectors.parameterValues([path, method]).toJS());
    return h(
      "div",
      { className: "execute-wrapper", style: { textAlign: "left" } },
      h("h4", null, "Browsers cannot send streams. With grpcurl, whose input has one or more messages:"),
      h("pre", { className: "curl microlight triple-curl" }, grpcurlLine(location.origin, path, body, options)),
    );
  }

  const wrap = (Original: unknown) => (props: OperationProps) => {
    const kind = specSelectors.specJson().getIn(["paths", props.path, props.method, "x-streaming"]);
    // Routes of REST do not support streams; the server says so.
    if (kind === undefined || props.method !== "post" || props.path.split("/").length !== 3) return h(Original, props);
    return h(kind === "server" ? ServerStreaming : OtherStreaming, props);
  };
  return { wrapComponents: { execute: wrap } };
}

SwaggerUIBundle({
  dom_id: "#ui",
  url: `${prefix}/triple/openapi.json`,
  validatorUrl: null,
  tryItOutEnabled: true,
  deepLinking: true,
  plugins: [streamingPlugin],
});
