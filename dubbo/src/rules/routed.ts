/** The balancer that rules restrict: the policy chooses among the endpoints that they leave for a request. */
import { Code, type ContextKey, RpcError } from "triple-es";
import type { Balancer, Endpoint, ReadyEndpoint, RoutedBalancer } from "triple-es/discovery";
import { parseAddress, random } from "triple-es/internal";
import { javaName } from "./condition.ts";
import { Plan } from "./plan.ts";
import type { Candidate, Parameters, Rule } from "./subject.ts";

/** The ready endpoints that rules leave, and the picker among them. */
interface Choice {
  readonly ready: readonly ReadyEndpoint[];
  readonly pick: ReturnType<RoutedBalancer>;
}

/** Restricts a policy by the rules that are current when its picker is made. `common` are the parameters of all endpoints. */
export function routed(
  policy: Balancer,
  rulesOf: () => readonly Rule[],
  consumer: Parameters,
  common: Readonly<Record<string, string>>,
): RoutedBalancer {
  const known = new WeakMap<Endpoint, Parameters>();

  function parametersOf(endpoint: Endpoint): Parameters {
    const parameters = known.get(endpoint) ?? endpointParameters(endpoint, common);
    known.set(endpoint, parameters);
    return parameters;
  }

  const balancer: RoutedBalancer = (ready, pending) => {
    const all = [...ready, ...pending];
    const candidates = all.map(({ endpoint }, index) => ({ index, parameters: parametersOf(endpoint) }));
    const finish = (left: readonly Candidate[]): Choice => {
      const able = left.flatMap(({ index }) => (index < ready.length ? (all[index] as ReadyEndpoint) : []));
      if (left.length === 0) return { ready: able, pick: refuse };
      return { ready: able, pick: able.length === 0 ? () => undefined : policy(able) };
    };
    const plan = new Plan(rulesOf(), consumer, candidates, finish, random);
    // One view of requests for all picks, because none of them waits.
    let current: HttpRequest | undefined;
    const view = { method: "", attachment: (name: string) => current?.headers.get(name) };
    const choose = (request: HttpRequest): Choice => {
      const { path } = request;
      if (path !== current?.path || path.endsWith("$invoke")) view.method = javaName(methodOf(request));
      current = request;
      return plan.choose(view);
    };
    return Object.assign((request: HttpRequest) => choose(request).pick(request), {
      among: (request: HttpRequest) => choose(request).ready,
    });
  };
  return Object.assign(balancer, policy.policy === undefined ? {} : { policy: policy.policy, loads: policy.loads });
}

/** The name of the method that a generic call calls, which its client sets under the same key. */
const CALLED_METHOD: ContextKey<string> = { id: Symbol.for("triple-es.called"), defaultValue: "$invoke" };

function methodOf({ path, context }: HttpRequest): string {
  // Over HTTP RPC, the path of an overload has a suffix after a tilde.
  const name = path.slice(path.lastIndexOf("/") + 1).split("~")[0] as string;
  return name === CALLED_METHOD.defaultValue ? (context?.values?.get(CALLED_METHOD) ?? name) : name;
}

type HttpRequest = globalThis.Parameters<ReturnType<RoutedBalancer>>[0];

function refuse({ path }: HttpRequest): never {
  throw new RpcError(Code.Unavailable, `the traffic rules leave no endpoint for ${path}`);
}

/** Returns the parameters of an endpoint as those of a provider URL of Dubbo. */
function endpointParameters(endpoint: Endpoint, common: Readonly<Record<string, string>>): Parameters {
  return new Map(Object.entries({ ...endpoint.attributes, ...common, protocol: "tri", ...addressOf(endpoint) }));
}

/** Returns the address of an endpoint and its parts. */
export function addressOf({ address }: Endpoint): { host: string; port: string; address: string } {
  const parsed = parseAddress(address);
  const [host, port] = parsed !== undefined && "host" in parsed ? [parsed.host, String(parsed.port)] : [address, ""];
  return { host, port, address };
}
