/**
 * Providers with dynamic configuration: the rules `APPLICATION.configurators` and `SERVICE:VERSION:GROUP.configurators` set the
 * weights of an instance and of its services, which is then registered again, as by Dubbo for Java. Consumers see them like any
 * other weight.
 */
import { Code, RpcError } from "triple-es";
import type { Instance, Registration, RegistrationEvent } from "triple-es/discovery";
import { Backoff, callHook, DEFAULT_WEIGHT, delayInBackground } from "triple-es/internal";
import type { Rules } from "../rules/service-rules.ts";
import { ownRevision } from "./dubbo/metadata.ts";
import type { DubboSource } from "./dubbo/source.ts";
import { type KeptRegistration, REGISTRATION_BACKOFF } from "./registration.ts";

/** The number of states that are described: consumers ask for that which they have read, and not again soon without an answer. */
const MAX_STATES = 20;

/** Keeps the weights of a registration up to date with the rules until it is closed. Without rules, returns it unchanged. */
export function configured(
  registration: KeptRegistration,
  instance: Instance,
  rules: Rules | undefined,
  { rule }: Pick<DubboSource, "rule">,
  onEvent: (event: RegistrationEvent) => void = () => {},
): Registration {
  if (rules === undefined) return registration;
  const weights = rules.weights(instance, (problem) => {
    const error = new RpcError(Code.InvalidArgument, problem);
    callHook("the hook onRegistration", () => onEvent({ type: "failed", error }));
  });
  const ended = new AbortController();
  let { weight: given = DEFAULT_WEIGHT, attributes } = instance;
  let ruled: readonly (number | undefined)[] = [];
  let states: readonly Instance[] = [instance];

  /** Registers a change, with the weight of the instance, and each service with its own if that is another one. */
  function update(change: Parameters<Registration["update"]>[0]): Promise<void> {
    ruled = weights.map((one) => one.weight(attributes));
    const [weight = given, ...others] = ruled;
    const services = instance.services.map((offered, index) => {
      const own = others[index] ?? weight;
      return own === weight ? offered : { ...offered, parameters: { ...offered.parameters, weight: String(own) } };
    });
    const state = { ...instance, services };
    states = [...states.filter((one) => ownRevision(one) !== ownRevision(state)), state].slice(-MAX_STATES);
    return registration.update({ ...change, weight, services });
  }

  function apply(): void {
    if (weights.some(({ weight }, index) => weight(attributes) !== ruled[index])) update({}).catch(() => {});
  }

  /** Watches a rule, again after the registry has failed. */
  function watch(text: (typeof weights)[number]["text"], retry = new Backoff(REGISTRATION_BACKOFF)): void {
    if (ended.signal.aborted) return;
    text.stop = rule(text.key as string).watch({
      onValue(given) {
        retry.reset();
        text.set(given);
        apply();
      },
      onFailure: () => void delayInBackground(retry.next(), ended.signal).then(() => watch(text, retry)),
    });
  }

  apply();
  for (const { text } of weights) if (!text.isKnown) watch(text);
  return {
    ...registration,
    states: () => states,
    update(change) {
      given = change.weight ?? given;
      attributes = change.attributes ?? attributes;
      return update(change);
    },
    close(options) {
      ended.abort();
      for (const { text } of weights) text.stop();
      return registration.close(options);
    },
  };
}
