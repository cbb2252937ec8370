/**
 * Consumers: the entries by which Dubbo's consoles list an application among those that call a service, as Dubbo for Java
 * writes them: a consumer URL while a resolver of the service runs, and a definition, which is never deleted.
 */
import type { Instance, Registration, ServiceKey } from "triple-es/discovery";
import { formatServiceKey, onAbort, random, wallClock } from "triple-es/internal";
import { keepRegistered, type Publisher } from "../registration.ts";
import { externalHost } from "../servers.ts";
import { serviceParameters } from "./provider-url.ts";
import { checkApplicationName } from "./service-key.ts";
import type { EntrySession, Store, Warn } from "./source.ts";

/** Lists a consumer until the signal of its resolver fires. A resolver may call it again. */
type ListConsumer = (key: ServiceKey, warn: Warn, signal: AbortSignal) => void;

/** Lists an application, or nothing without one. Reports failures to resolvers. Throws a `TypeError` for an invalid name. */
export function createConsumers<Entry>(store: Store<Entry>, application: string | undefined): ListConsumer {
  if (application === undefined) return () => {};
  checkApplicationName(application);
  // Several processes of the application may begin at the same time on one host.
  const own = { id: Math.floor(random() * 2 ** 32).toString(16), timestamp: String(wallClock()) };
  const listed = new Map<string, { readonly resolvers: Map<AbortSignal, Warn>; readonly registration: Registration }>();
  const removals = new Map<string, Promise<void>>();

  const list = (name: string, key: ServiceKey) => {
    const shared = { ...serviceParameters(application, key), side: "consumer" };
    const text = JSON.stringify(shared);
    const definition = store.definition(key, "consumer", application);
    const consumer: Instance = {
      application,
      host: externalHost() ?? "localhost",
      port: 0,
      services: [key],
      attributes: { ...shared, ...own, category: "consumers", check: "false" },
    };
    const entry = store.consumerEntry(key, consumer);
    // The entry of the last consumer of the service may be equal.
    const freed = Promise.resolve(removals.get(name));
    const publisher: Publisher<EntrySession<Entry>> = {
      open: (signal) => freed.then(() => store.open(signal)),
      async publish(session) {
        await session.put(...entry);
        // All processes of the application share the definition.
        if (store.hasConsoles) await definition.change((content) => (content === text ? undefined : text));
      },
      withdraw: (session) => session.remove(...entry),
    };
    const resolvers = new Map<AbortSignal, Warn>();
    const registration = keepRegistered(publisher, consumer, (event) => {
      if (event.type === "registered") return;
      for (const warn of resolvers.values()) warn(`this consumer of ${name} is not listed: ${event.error.rawMessage}`);
    });
    return { resolvers, registration };
  };

  return (key, warn, signal) => {
    const name = formatServiceKey(key);
    const { resolvers, registration } = listed.get(name) ?? list(name, key);
    if (resolvers.has(signal)) return;
    listed.set(name, { resolvers, registration });
    resolvers.set(signal, warn);
    onAbort(signal, () => {
      resolvers.delete(signal);
      if (resolvers.size > 0) return;
      listed.delete(name);
      removals.set(name, registration.close());
    });
  };
}
