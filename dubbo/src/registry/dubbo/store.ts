/**
 * The common part of the registries of Dubbo: resolvers and the registration of instances, by the store that each of them has.
 */
import type { Instance, Registration, RegistrationEvent, Registry } from "triple-es/discovery";
import type { Rules } from "../../rules/service-rules.ts";
import { configured } from "../configured.ts";
import { keepRegistered, type Publisher, registryClosed } from "../registration.ts";
import { withDefinitions } from "./definition.ts";
import { createDubboResolvers } from "./resolver.ts";
import { addToMapping } from "./service-key.ts";
import type { EntrySession, Store } from "./source.ts";

/** Makes a registry, which ends the registrations that `keep` begins before it disconnects. */
export function createRegistry<Entry>(
  store: Store<Entry>,
  options: Parameters<typeof createDubboResolvers>[1],
  keep: Registry["register"],
  disconnect: () => unknown,
): Registry {
  const registrations = new Set<Registration>();
  let isClosed = false;
  return {
    resolver: createDubboResolvers(store, options),
    register(instance, onEvent) {
      if (isClosed) throw registryClosed();
      const kept = keep(instance, onEvent);
      const registration: Registration = {
        ...kept,
        close: (closeOptions) => kept.close(closeOptions).finally(() => registrations.delete(registration)),
      };
      registrations.add(registration);
      return registration;
    },
    async close() {
      isClosed = true;
      await Promise.allSettled([...registrations].map((registration) => registration.close()));
      await disconnect();
    },
  };
}

/** Keeps an instance in a store, with its definitions, and with the weight that rules set. */
export function keepInstance<Entry>(
  store: Store<Entry>,
  instance: Instance,
  rules: Rules | undefined,
  onEvent?: (event: RegistrationEvent) => void,
): Registration {
  const kept = keepRegistered(createPublisher(store), instance, onEvent);
  const registration = configured(kept, instance, rules, store, onEvent);
  return store.hasConsoles ? withDefinitions(registration, instance, store, onEvent) : registration;
}

function createPublisher<Entry>({ open, entriesOf, mapping }: Store<Entry>): Publisher<EntrySession<Entry>> {
  return {
    open,
    async publish(session, instance, earlier) {
      const before = earlier === undefined ? new Map<string, Entry>() : entriesOf(earlier);
      const entries = entriesOf(instance);
      const changed = [...entries].filter(
        ([name, entry]) => JSON.stringify(before.get(name)) !== JSON.stringify(entry),
      );
      await Promise.all(changed.map((one) => session.put(...one)));
      await Promise.all([...before].filter(([name]) => !entries.has(name)).map((one) => session.remove(...one)));
      if (earlier !== undefined || instance.mode === "interface") return;
      // Written last: consumers that see the mapping look for the instance.
      const names = new Set(instance.services.map(({ service }) => service));
      const add = (content: string | undefined): string | undefined => addToMapping(content, instance.application);
      await Promise.all([...names].map((service) => mapping(service).change(add)));
    },
    async withdraw(session, instance) {
      await Promise.all([...entriesOf(instance)].map((one) => session.remove(...one)));
    },
  };
}
