/**
 * Providers with dynamic configuration: the rule `APPLICATION.configurators` sets the weight of an instance, which is then
 * registered again, as by Dubbo for Java. Consumers see it like any other weight.
 */
import { Code, RpcError } from "triple-es";
import type { Instance, Registration, RegistrationEvent } from "triple-es/discovery";
import { Backoff, callHook, delayInBackground } from "triple-es/internal";
import type { Rules } from "../rules/service-rules.ts";
import type { DubboSource } from "./dubbo/source.ts";
import { REGISTRATION_BACKOFF } from "./registration.ts";

/** Keeps the weight of a registration up to date with the rule until it is closed. Without rules, returns it unchanged. */
export function configured(
  registration: Registration,
  instance: Instance,
  rules: Rules | undefined,
  { rule }: Pick<DubboSource, "rule">,
  onEvent: (event: RegistrationEvent) => void = () => {},
): Registration {
  if (rules === undefined) return registration;
  const key = `${instance.application}.configurators`;
  const weightBy = rules.weights(instance, (reason) => {
    const message = `the rule ${key} is ignored, and the last one stays: ${reason}`;
    callHook("the hook onRegistration", () =>
      onEvent({ type: "failed", error: new RpcError(Code.InvalidArgument, message) }),
    );
  });
  const ended = new AbortController();
  let given = instance.weight;
  let ruled: number | undefined;

  function apply(text: string | undefined): void {
    const weight = weightBy(text);
    if (weight === ruled) return;
    ruled = weight;
    registration.update({ weight: ruled ?? given }).catch(() => {});
  }

  let stop = (): void => {};
  const retry = new Backoff(REGISTRATION_BACKOFF);

  /** Watches the rule, again after the registry has failed. */
  function watch(): void {
    if (ended.signal.aborted) return;
    stop = rule(key).watch({
      onValue: apply,
      onFailure: () => void delayInBackground(retry.next(), ended.signal).then(watch),
    });
  }

  watch();
  return {
    ready: registration.ready,
    status: registration.status,
    update(change) {
      given = change.weight ?? given;
      return registration.update({ ...change, weight: ruled ?? given });
    },
    close(options) {
      ended.abort();
      stop();
      return registration.close(options);
    },
  };
}
