/**
 * Load reports of a server (gRFC A51), by which clients with the policy weighted round robin compute weights: in the trailers of
 * gRPC calls, and out of band by the service `xds.service.orca.v3.OpenRcaService`.
 */
import { create } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
import type { CallRequest, Interceptor } from "../call/call.ts";
import { callHook, RpcError } from "../call/error.ts";
import { watchEnd } from "../call/message-stream.ts";
import { CALL_LOAD_REPORT, type Metadata } from "../call/metadata.ts";
import { assertAmount, assertFunctions } from "../call/option.ts";
import { cpuTime, now } from "../call/platform.ts";
import { delay } from "../call/timer.ts";
import { OrcaLoadReportCodec } from "../gen/xds/data/orca/v3/orca_load_report_codec.ts";
import { OrcaLoadReportSchema } from "../gen/xds/data/orca/v3/orca_load_report_pb.ts";
import { OpenRcaServiceDef } from "../gen/xds/service/orca/v3/orca_triple.ts";
import type { Router, ServiceOptions } from "../server/router.ts";

/** The time over which load is measured at least, in milliseconds. */
const MEASURE_MS = 1_000;

/** The load of a server, with the names of `xds.data.orca.v3.OrcaLoadReport`. No number is negative. */
export interface LoadReport {
  /** The used share of the CPU. It may exceed 1. Default: the CPU time of the process per second. */
  readonly cpuUtilization?: number;
  /** The used share of the memory. */
  readonly memUtilization?: number;
  /** The used share of the application's capacity, which clients prefer to that of the CPU. It may exceed 1. */
  readonly applicationUtilization?: number;
  /** Calls per second. Default: those that the interceptor has seen. */
  readonly rpsFractional?: number;
  /** Failed calls per second. Default: those that the interceptor has seen. */
  readonly eps?: number;
  /** Used shares of other resources, by name. */
  readonly utilization?: Readonly<Record<string, number>>;
  /** Costs of the call, by name. */
  readonly requestCost?: Readonly<Record<string, number>>;
  /** Other metrics, by name. */
  readonly namedMetrics?: Readonly<Record<string, number>>;
}

/**
 * Adds the service that reports the load out of band to a router or server. Returns the interceptor that measures calls and adds a
 * report to the trailers of those over gRPC, for the option `interceptors` of services. Throws a `TypeError` for an invalid option.
 *
 *     const reportLoad = addLoadReports(server, { report: () => ({ applicationUtilization: pool.used / pool.size }) });
 *     server.add(GreetServiceDef, greetService, { interceptors: [reportLoad] });
 */
export function addLoadReports(
  router: Router,
  options: ServiceOptions & {
    /**
     * Returns what is not measured, for each report: of a call when it ends, with the request, or out of band, without one.
     * Default: what is measured is reported.
     */
    readonly report?: ((request: CallRequest | undefined) => LoadReport) | undefined;
    /** Minimum interval of reports out of band, in milliseconds, for clients that ask for a shorter one. Default: 30,000. */
    readonly minIntervalMs?: number | undefined;
  } = {},
): Interceptor {
  const { report, minIntervalMs = 30_000, ...serviceOptions } = options;
  assertFunctions({ report });
  assertAmount("minIntervalMs", minIntervalMs, true);
  const meter = new Meter();
  const load = (request?: CallRequest): LoadReport => ({ ...meter.read(), ...report?.(request) });

  async function* streamCoreMetrics(
    { reportInterval: every }: { readonly reportInterval?: Duration | undefined },
    { signal, draining }: { readonly signal: AbortSignal; readonly draining: AbortSignal },
  ): AsyncGenerator<LoadReport, void> {
    const intervalMs = Math.max(minIntervalMs, every ? Number(every.seconds) * 1000 + every.nanos / 1e6 : 0);
    for (;;) {
      yield load();
      await delay(intervalMs, signal, draining);
    }
  }
  const limits = { maxTimeoutMs: Number.POSITIVE_INFINITY };
  router.add(OpenRcaServiceDef, { streamCoreMetrics }, { limits, ...serviceOptions });

  /** Counts a call that has ended, and adds the report to its trailers. */
  function ended(request: CallRequest, trailers: Metadata, isFailed: boolean): void {
    meter.count(isFailed);
    if (!request.headers.get("content-type")?.startsWith("application/grpc")) return;
    callHook("the load report of a call", () =>
      trailers.set(CALL_LOAD_REPORT, OrcaLoadReportCodec.encode(create(OrcaLoadReportSchema, load(request)))),
    );
  }

  return (next) => async (request) => {
    try {
      const response = await next(request);
      if (!response.stream) ended(request, response.trailers, false);
      else {
        const messages = watchEnd(response.messages, (how, reason) =>
          ended(request, reason instanceof RpcError ? reason.trailers : response.trailers, how === "failed"),
        );
        return { ...response, messages };
      }
      return response;
    } catch (reason) {
      ended(request, RpcError.from(reason).trailers, true);
      throw reason;
    }
  };
}

/** The measured load: that of the last period of at least {@link MEASURE_MS}. */
class Meter {
  #calls = 0;
  #failed = 0;
  #since = now();
  #cpuMs = cpuTime();
  #load: LoadReport = {};

  count(isFailed: boolean): void {
    this.#calls++;
    if (isFailed) this.#failed++;
  }

  read(): LoadReport {
    const time = now();
    const elapsedMs = time - this.#since;
    if (elapsedMs < MEASURE_MS) return this.#load;
    const cpuMs = cpuTime();
    this.#load = {
      cpuUtilization: (cpuMs - this.#cpuMs) / elapsedMs,
      rpsFractional: (this.#calls * 1_000) / elapsedMs,
      eps: (this.#failed * 1_000) / elapsedMs,
    };
    this.#since = time;
    this.#cpuMs = cpuMs;
    this.#calls = 0;
    this.#failed = 0;
    return this.#load;
  }
}
