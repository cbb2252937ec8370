/**
 * Discovery for OpenTelemetry: hooks for transports and registrations that count resolutions, connections, ejections and
 * registrations. Metrics that gRPC defines (gRFC A91, A94) have gRPC's names. Requires the package `@opentelemetry/api`.
 */
import { type Attributes, type BatchObservableResult, type Meter, metrics } from "@opentelemetry/api";
import type { RetryEvent, TransparentRetryEvent } from "../call/attempt.ts";
import type { ServerState, Shown, TransportState } from "../http/channel-state.ts";
import { VERSION } from "../version.ts";
import { canonicalTarget, noteRetry, noteTransparentRetry } from "./attempt-telemetry.ts";

const SUBCHANNEL = "grpc.subchannel";
const OUTLIERS = "grpc.lb.outlier_detection";
/** The attributes of ejections. gRPC does not have the method `consecutive_failures`. */
const DETECTION_METHOD = `${OUTLIERS}.detection_method`;
const UNENFORCED: Attributes = { [`${OUTLIERS}.unenforced_reason`]: "max_ejection_overflow" };
/** States of endpoints. A state without endpoints is reported as 0. */
const STATES = ["idle", "connecting", "ready", "failing", "ejected"];

/** Hooks, each for the option of the same name. */
export interface DiscoveryTelemetry {
  /** For a transport with a `resolver` or a `registry`. */
  readonly onEndpoint: (
    event:
      | { readonly type: "endpoint"; readonly address: string; readonly state: string; readonly method?: string }
      | { readonly type: "ejection skipped"; readonly address: string; readonly method: string }
      | { readonly type: "connection failed" | "unlisted" | "removed"; readonly address: string }
      | { readonly type: "resolved" | "resolver failed" | "invalid endpoint" | "invalid service config" },
  ) => void;
  /** For the option `retry` of a transport whose calls are traced by `createClientTelemetry`. */
  readonly onRetry: (event: RetryEvent) => void;
  /** For a transport whose calls are traced by `createClientTelemetry`. */
  readonly onTransparentRetry: (event: TransparentRetryEvent) => void;
  /** For `register`. */
  readonly onRegistration: (event: { readonly type: "registered" | "failed" }) => void;
  /** Counts the connections of a server or transport of `triple-es/node`, and its endpoints, until the result is called. */
  readonly observe: (one: { readonly close: () => Promise<void> }) => () => void;
}

/** Creates the hooks for one target. */
export function createDiscoveryTelemetry(options: {
  /** The attribute `grpc.target`: the URL of the target as in `baseUrl` of `createClientTelemetry`, or a name. */
  readonly target: string;
  /** The meter that creates the instruments. Default: the meter `triple-es` of the global provider. */
  readonly meter?: Meter | undefined;
}): DiscoveryTelemetry {
  const { meter = metrics.getMeter("triple-es", VERSION) } = options;
  if (typeof options.target !== "string" || options.target === "") {
    throw new TypeError(`target must be a name, not ${JSON.stringify(options.target)}`);
  }
  const target = canonicalTarget(options.target);
  const common: Attributes = { "grpc.target": target };
  const counter = (name: string, unit: string, description: string): ((attributes?: Attributes) => void) => {
    const instrument = meter.createCounter(name, { unit, description });
    return (attributes) => instrument.add(1, { ...common, ...attributes });
  };
  const connected = counter(`${SUBCHANNEL}.connection_attempts_succeeded`, "{attempt}", "Endpoints that became ready");
  const failed = counter(`${SUBCHANNEL}.connection_attempts_failed`, "{attempt}", "Failed attempts to connect");
  const disconnected = counter(`${SUBCHANNEL}.disconnections`, "{disconnection}", "Ready endpoints that were lost");
  const ejected = counter(`${OUTLIERS}.ejections_enforced`, "{ejection}", "Endpoints that were ejected as outliers");
  const skippedEjection = counter(`${OUTLIERS}.ejections_unenforced`, "{ejection}", "Ejections beyond the maximum");
  const resolved = counter("triple.client.resolutions", "{resolution}", "Lists of endpoints, and failures to get one");
  const skipped = counter("triple.client.invalid_entries", "{entry}", "Invalid endpoints and service configs");
  const registered = counter("triple.server.registrations", "{registration}", "Changes of the state of registrations");
  /** Addresses of endpoints that are ready. */
  const ready = new Set<string>();

  const served = meter.createObservableUpDownCounter("triple.server.open_connections", { unit: "{connection}" });
  const opened = meter.createObservableUpDownCounter(`${SUBCHANNEL}.open_connections`, { unit: "{connection}" });
  const endpoints = meter.createObservableGauge("triple.client.endpoints", { unit: "{endpoint}" });
  const observed = new Set<() => Partial<TransportState & ServerState>>();
  // One callback for all, because a meter keeps one of several observations with the same attributes.
  const observeAll = (result: BatchObservableResult): void => {
    const all = [...observed].map((read) => read());
    const servers = all.filter(({ sockets }) => sockets !== undefined);
    if (servers.length > 0) result.observe(served, servers.flatMap(({ sockets = [] }) => sockets).length, common);
    if (servers.length === all.length) return;
    const subchannels = all.flatMap(({ subchannels = [] }) => subchannels);
    result.observe(opened, subchannels.flatMap(({ sockets }) => sockets).length, common);
    for (const state of STATES) {
      result.observe(endpoints, subchannels.filter((one) => one.state === state).length, { ...common, state });
    }
  };
  meter.addBatchObservableCallback(observeAll, [served, opened, endpoints]);

  function endpointChanged(address: string, state: string, method: string | undefined): void {
    if (state === "ejected") ejected({ [DETECTION_METHOD]: method });
    else if (state === "ready") {
      // An endpoint whose ejection is over, or that is healthy again, was connected all the time.
      if (!ready.has(address)) connected();
      ready.add(address);
    } else if (state !== "failing" && ready.delete(address)) disconnected();
  }

  return {
    onEndpoint(event) {
      if (event.type === "endpoint") endpointChanged(event.address, event.state, event.method);
      // A removed endpoint is closed on purpose, which does not count as a disconnection.
      else if (event.type === "removed") ready.delete(event.address);
      else if (event.type === "connection failed") failed();
      else if (event.type === "ejection skipped") skippedEjection({ [DETECTION_METHOD]: event.method, ...UNENFORCED });
      else if (event.type === "resolved") resolved({ result: "success" });
      else if (event.type === "resolver failed") resolved({ result: "failure" });
      else if (event.type !== "unlisted") skipped();
    },
    onRetry: (event) => noteRetry(event, target),
    onTransparentRetry: (event) => noteTransparentRetry(event, target),
    onRegistration: ({ type }) => registered({ result: type === "registered" ? "success" : "failure" }),
    observe(one) {
      const read = (one as Partial<Shown<Partial<TransportState & ServerState>>>)["~state"];
      if (read === undefined) throw new TypeError("observe needs a server or transport of triple-es/node");
      observed.add(read);
      return () => void observed.delete(read);
    },
  };
}
