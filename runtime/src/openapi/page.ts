/**
 * The script of the page of the option `console`: starts Swagger UI with a plugin that calls streaming methods and shows their
 * messages as they arrive. `scripts/build.js` bundles it for browsers.
 */
import { readChunks } from "../http/body.ts";
import { EventReader } from "../http-rpc/event-reader.ts";
import { type BuiltRequest, grpcurlLine } from "./command-line.ts";

/** The part of React that the page uses. Swagger UI contains it. */
interface ReactLike {
  createElement(type: unknown, props: object | null, ...children: unknown[]): unknown;
  useState<S>(initial: S): [S, (update: S | ((before: S) => S)) => void];
  useRef<T>(initial: T): { current: T };
}

/** A collection of Immutable.js, as Swagger UI stores documents and values. */
interface Collection<T> {
  toJS(): T;
  getIn(path: readonly string[]): unknown;
}

interface UiSystem {
  readonly React: ReactLike;
  readonly fn: { buildRequest(call: object): BuiltRequest };
  getComponent(name: string): unknown;
  getConfigs(): object;
  readonly authSelectors: { authorized(): Collection<object> | undefined };
  readonly specActions: { setRequest(path: string, method: string, request: BuiltRequest): void };
  readonly specSelectors: {
    specJson(): Collection<object>;
    specJsonWithResolvedSubtrees(): Collection<object>;
    parameterValues(operation: readonly [path: string, method: string]): Collection<object>;
    requestFor(path: string, method: string): object | undefined;
  };
  readonly oas3Selectors: {
    requestBodyValue(path: string, method: string): unknown;
    selectedServer(): string;
  };
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

const documentUrl = `${location.origin}${location.pathname}/openapi.json`;

/** Maximum number of messages on the page: the oldest ones are removed. */
const MAX_SHOWN = 1_000;

/** Yields the messages of a server stream as text. Throws an error with the body of the error of the call. */
async function* messagesOf(response: Response): AsyncGenerator<string, void> {
  if (!response.ok || response.body === null) throw new Error(await response.text());
  const reader = new EventReader(Number.POSITIVE_INFINITY);
  for await (const chunk of readChunks(response.body, (reason) => reason)) {
    reader.push(chunk);
    for (let event = reader.next(); event !== undefined; event = reader.next()) {
      if (event.name === "end") return;
      if (event.name === "failure") throw new Error(event.data);
      yield JSON.stringify(JSON.parse(event.data), undefined, 2);
    }
  }
  throw new Error("the response has no end");
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
function streamingPlugin(system: UiSystem): object {
  const { React, fn, getComponent, getConfigs, authSelectors, specActions, specSelectors, oas3Selectors } = system;
  const { createElement: h, useState, useRef } = React;

  /** Returns the request that Swagger UI would send. Throws an `Error` if a parameter is missing. */
  function requestOf({ path, method }: OperationProps): BuiltRequest {
    return fn.buildRequest({
      spec: specSelectors.specJsonWithResolvedSubtrees().toJS(),
      operationId: `${method}-${path}`,
      contextUrl: documentUrl,
      server: oas3Selectors.selectedServer(),
      parameters: specSelectors.parameterValues([path, method]).toJS(),
      securities: { authorized: authSelectors.authorized()?.toJS() },
      requestBody: String(oas3Selectors.requestBodyValue(path, method) ?? "{}"),
    });
  }

  function ServerStreaming(props: OperationProps): unknown {
    const { path, method } = props;
    const [{ messages, state, isRunning }, show] = useState<Progress>({ messages: [], state: "", isRunning: false });
    const controller = useRef<AbortController | undefined>(undefined);
    const sent = specSelectors.requestFor(path, method);

    async function start(): Promise<void> {
      controller.current?.abort();
      const started = new AbortController();
      controller.current = started;
      // A later call replaces what the page shows.
      const update: typeof show = (next) => (controller.current === started ? show(next) : undefined);
      update({ messages: [], state: "running", isRunning: true });
      try {
        const request = requestOf(props);
        specActions.setRequest(path, method, request);
        for await (const text of messagesOf(await fetch(request.url, { ...request, signal: started.signal }))) {
          update((before) => ({ ...before, messages: [...before.messages.slice(1 - MAX_SHOWN), text] }));
        }
        update((before) => ({ ...before, state: "the stream has ended", isRunning: false }));
      } catch (error) {
        const text = started.signal.aborted ? "canceled" : (error as Error).message;
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
      // Older versions of Swagger UI, such as 5.0, need the configuration.
      sent && h(getComponent("curl"), { request: sent, getComponent, getConfigs }),
      state !== "" && h("h4", { className: "triple-state" }, `${messages.length} messages: ${state}`),
      ...messages.map((text, index) => h("pre", { className: "microlight triple-message", key: index }, text)),
    );
  }

  function OtherStreaming(props: OperationProps): unknown {
    return h(
      "div",
      { className: "execute-wrapper", style: { textAlign: "left" } },
      h("h4", null, "Browsers cannot send streams. With grpcurl, whose input has one or more messages:"),
      h("pre", { className: "curl microlight triple-curl" }, lineOf(props)),
    );
  }

  function lineOf(props: OperationProps): string {
    try {
      return grpcurlLine(props.path, requestOf(props));
    } catch (error) {
      return (error as Error).message;
    }
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
  url: documentUrl,
  validatorUrl: null,
  tryItOutEnabled: true,
  deepLinking: true,
  plugins: [streamingPlugin],
});
