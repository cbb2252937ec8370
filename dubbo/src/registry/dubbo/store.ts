/**
 * The common part of the registries of Dubbo: the source of consumers, and the registration of instances, by the store that
 * each of them has.
 */
import type { Instance, Registration, RegistrationEvent, Registry } from "triple-es/discovery";
import type { Rules } from "../../rules/service-rules.ts";
import { configured } from "../configured.ts";
import { keepRegistered, type Publisher, registryClosed } from "../registration.ts";
import { withDefinitions } from "./definition.ts";
import { parseMetadata } from "./metadata.ts";
import { createDubboResolvers } from "./resolver.ts";
import { addToMapping, parseMapping } from "./service-key.ts";
import type { DubboSource, EntrySession, Store } from "./source.ts";

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
    resolver: createDubboResolvers(createSource(store), options),
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

function createSource<Entry>(store: Store<Entry>): DubboSource {
  return {
    ...store,
    watchApplications: (service, watcher) =>
      store.mapping(service).watch({ ...watcher, onValue: (content) => watcher.onValue(parseMapping(content)) }),
    keepConsumer(consumer, onEvent) {
      const { key, application, freed, define } = consumer;
      const entry = store.consumerEntry(consumer);
      const publisher: Publisher<EntrySession<Entry>> = {
        open: (signal) => freed.then(() => store.open(signal)),
        async publish(session) {
          await session.put(...entry);
          if (store.hasConsoles) await store.definition(key, "consumer", application).change(define);
        },
        withdraw: (session) => session.remove(...entry),
      };
      return keepRegistered(publisher, consumer, onEvent);
    },
    watchRule: (key, watcher) => store.rule(key).watch(watcher),
    async readStoredMetadata(application, revision, signal) {
      const content = await store.metadata(application, revision).read(signal);
      return content === undefined ? undefined : parseMetadata(JSON.parse(content));
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
  const registration = configured(kept, instance, rules, createSource(store), onEvent);
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
