/** Registrations whose registry refuses single requests while the session lives on. */
import { expect, it, onTestFinished, vi } from "vitest";
import { keepRegistered, type Publisher, type Session } from "../../../dubbo/src/registry/registration.ts";
import type { Instance } from "../../../runtime/src/discovery/registry.ts";

const INSTANCE: Instance = {
  application: "shop",
  host: "127.0.0.1",
  port: 1,
  services: [{ service: "shop.v1.Orders", group: "", version: "", parameters: undefined }],
  weight: 100,
  since: undefined,
  attributes: undefined,
  mode: "all",
};

/** A registry with one session: an entry for the address, and one for the address with the weight, like a provider URL. */
function memory(fails: (operation: string) => boolean) {
  const entries = new Set<string>();
  const session: Session = { lost: new AbortController().signal };
  const entriesOf = ({ host, port, weight }: Instance): string[] => [
    `${host}:${port}`,
    `${host}:${port}?weight=${weight}`,
  ];
  const check = (operation: string): void => {
    if (fails(operation)) throw new Error(`${operation} was refused`);
  };
  const publisher: Publisher<Session> = {
    open: async () => session,
    async publish(_, instance, earlier) {
      const before = earlier === undefined ? [] : entriesOf(earlier);
      const after = entriesOf(instance);
      for (const entry of after) {
        if (before.includes(entry)) continue;
        check(`put ${entry}`);
        entries.add(entry);
      }
      for (const entry of before) {
        if (after.includes(entry)) continue;
        check(`remove ${entry}`);
        entries.delete(entry);
      }
    },
    async withdraw(_, instance) {
      for (const entry of entriesOf(instance)) {
        check(`withdraw ${entry}`);
        entries.delete(entry);
      }
    },
  };
  const events: string[] = [];
  const registration = keepRegistered(publisher, INSTANCE, ({ type }) => events.push(type));
  onTestFinished(() => registration.close());
  return { entries, registration, events };
}

it("lets many registrations share a session without a warning of Node", async () => {
  const warnings: string[] = [];
  const onWarning = ({ name }: Error): void => void warnings.push(name);
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  const session: Session = { lost: new AbortController().signal };
  const publisher: Publisher<Session> = {
    open: async () => session,
    publish: async () => {},
    withdraw: async () => {},
  };
  const registrations = Array.from({ length: 20 }, (_, port) => keepRegistered(publisher, { ...INSTANCE, port }));
  await Promise.all(registrations.map(({ ready }) => ready));
  await Promise.all(registrations.map((registration) => registration.close()));
  // Node emits warnings in the next tick.
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings).toEqual([]);
});

/** Reports true the first time that the operation is the given one. */
function once(refused: string): (operation: string) => boolean {
  let isOver = false;
  return (operation) => {
    if (isOver || operation !== refused) return false;
    isOver = true;
    return true;
  };
}

it("an entry of an earlier state whose removal failed is removed by the next attempt", async () => {
  const { entries, registration } = memory(once("remove 127.0.0.1:1?weight=100"));
  await registration.ready;
  await registration.update({ weight: 7 });
  expect([...entries]).toEqual(["127.0.0.1:1", "127.0.0.1:1?weight=7"]);
});

it("a state that was written in part is written whole, also after a change", async () => {
  const { entries, registration } = memory(once("put 127.0.0.1:1"));
  await registration.update({ weight: 7 });
  expect([...entries]).toEqual(["127.0.0.1:1", "127.0.0.1:1?weight=7"]);
});

it("closing removes the entries of all states", async () => {
  let refuses = true;
  const { entries, registration } = memory((operation) => refuses && operation.startsWith("remove"));
  await registration.ready;
  const update = registration.update({ weight: 7 });
  await expect.poll(() => entries.size).toBe(3);
  refuses = false;
  await registration.close();
  await expect(update).rejects.toThrow("the registration is closed");
  expect([...entries]).toEqual([]);
});

it("closing repeats a removal that has failed", async () => {
  const { entries, registration } = memory(once("withdraw 127.0.0.1:1"));
  await registration.ready;
  await registration.close();
  expect([...entries]).toEqual([]);
});

it("closing waits no longer than its grace period, after which no entries of a later registration are removed", async () => {
  vi.useFakeTimers();
  let removals = 0;
  const { registration } = memory((operation) => operation.startsWith("withdraw") && ++removals > 0);
  await registration.ready;
  const closed = registration.close({ graceMs: 1_000 });
  await vi.advanceTimersByTimeAsync(1_000);
  await closed;
  expect(removals).toBeGreaterThan(1);
  const before = removals;
  await vi.advanceTimersByTimeAsync(60_000);
  vi.useRealTimers();
  expect(removals).toBe(before);
});

it("an instance that is offline has no entries, and goes online with the changes that were made meanwhile", async () => {
  const { entries, registration, events } = memory(() => false);
  expect(registration.status()).toBe("pending");
  await registration.ready;
  expect(registration.status()).toBe("registered");
  await registration.update({ offline: true });
  expect([...entries]).toEqual([]);
  expect(registration.status()).toBe("offline");
  await registration.update({ weight: 7, offline: undefined });
  expect([...entries]).toEqual([]);
  await registration.update({ offline: false, weight: undefined });
  expect([...entries]).toEqual(["127.0.0.1:1", "127.0.0.1:1?weight=7"]);
  expect(registration.status()).toBe("registered");
  expect(events).toEqual(["registered", "registered"]);
  await registration.close();
  expect([...entries]).toEqual([]);
  expect(registration.status()).toBe("closed");
});

it("an entry whose removal failed when the instance went offline is removed by the next attempt", async () => {
  const { entries, registration, events } = memory(once("withdraw 127.0.0.1:1?weight=100"));
  await registration.ready;
  await registration.update({ offline: true });
  expect([...entries]).toEqual([]);
  expect(events).toEqual(["registered", "failed"]);
  await registration.update({ offline: false });
  expect(entries.size).toBe(2);
});

it("an instance that goes online before its removal is complete has all its entries", async () => {
  const { entries, registration } = memory(once("withdraw 127.0.0.1:1?weight=100"));
  await registration.ready;
  const offline = registration.update({ offline: true });
  await expect.poll(() => entries.size).toBe(1);
  const online = registration.update({ offline: false, weight: 7 });
  await Promise.all([offline, online]);
  expect([...entries].sort()).toEqual(["127.0.0.1:1", "127.0.0.1:1?weight=7"]);
  expect(registration.status()).toBe("registered");
});
