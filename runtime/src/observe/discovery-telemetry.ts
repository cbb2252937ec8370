/**
 * Discovery for OpenTelemetry: hooks for transports and registrations that count resolutions, connections, ejections and
 * registrations. Metrics that gRPC defines (gRFC A91, A94) have gRPC's names. Requires the package `@opentelemetry/api`.
 */
import { type Attributes, type Meter, metrics } from "@opentelemetry/api";
import type { RetryEvent, TransparentRetryEvent } from "../call/attempt.ts";
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
      | { readonly type: "connection failed"; readonly address: string }
      | { readonly type: "unlisted" | "removed"; readonly address: string }
      | { readonly type: "resolved" | "resolver failed" | "invalid endpoint" | "invalid service config" },
  ) => void;
  /** For the option `retry` of a transport whose calls are traced by `createClientTelemetry`. */
  readonly onRetry: (event: RetryEvent) => void;
  /** For a transport whose calls are traced by `createClientTelemetry`. */
  readonly onTransparentRetry: (event: TransparentRetryEvent) => void;
  /** For `register`. */
  readonly onRegistration: (event: { readonly type: "registered" | "failed" }) => void;
  /** Counts the endpoints of a transport by state, until the returned function is called. */
  readonly observe: (transport: { readonly endpoints: () => readonly { readonly state: string }[] }) => () => void;
}

/**
 * Creates the hooks for one target.
 *
 *     const telemetry = createDiscoveryTelemetry({ target: "shop" });
 *     const transport = createTransport({ registry, onEndpoint: telemetry.onEndpoint });
 */
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
    observe(transport) {
      const gauge = meter.createObservableGauge("triple.client.endpoints", {
        unit: "{endpoint}",
        description: "Endpoints of a target by state",
      });
      const callback = (result: { observe(value: number, attributes: Attributes): void }): void => {
        const counts = new Map(STATES.map((state) => [state, 0]));
        for (const { state } of transport.endpoints()) counts.set(state, (counts.get(state) ?? 0) + 1);
        for (const [state, count] of counts) result.observe(count, { ...common, state });
      };
      gauge.addCallback(callback);
      return () => gauge.removeCallback(callback);
    },
  };
}
