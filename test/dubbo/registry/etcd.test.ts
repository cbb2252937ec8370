/** Watches of etcd, with a client whose streams are lost. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Code, RpcError } from "triple-es";
import { expect, it, onTestFinished } from "vitest";
import { Event_EventType as EventType } from "../../../dubbo/src/gen/etcd/rpc_pb.ts";
import type { EtcdClient } from "../../../dubbo/src/registry/etcd/client.ts";
import { createEtcdTree } from "../../../dubbo/src/registry/etcd/tree.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

it("a watch keeps nothing of the streams that it has lost", async () => {
  const lost: WeakRef<object>[] = [];
  async function* watch(requests: AsyncIterable<object>) {
    const sent = requests[Symbol.asyncIterator]();
    await sent.next();
    void sent.next();
    lost.push(new WeakRef(sent));
    yield { header: { clusterId: 1n, revision: 1n }, created: true, canceled: false, events: [] };
    throw new RpcError(Code.Unavailable, "by the test");
  }
  const range = async () => ({ kvs: [], revision: 1n, cluster: 1n });
  const tree = createEtcdTree({ range, watch: { watch } } as unknown as EtcdClient, 15_000);
  const failures: unknown[] = [];
  onTestFinished(tree.watchContent("/a", { onValue: () => {}, onFailure: (reason) => failures.push(reason) }));
  await expect.poll(() => lost.length, { timeout: 10_000 }).toBeGreaterThan(2);
  const isReleased = (): boolean => {
    collectGarbage();
    return lost.slice(0, 2).every((one) => one.deref() === undefined);
  };
  await expect.poll(isReleased, { timeout: 10_000 }).toBe(true);
  expect(failures).toEqual([]);
});

it("a watch that is lost between the batches of a long history continues after the last one that it has received", async () => {
  const starts: bigint[] = [];
  const eventOf = (index: bigint) => {
    const [key, value] = [`/a/${index}`, "x"].map((text) => new TextEncoder().encode(text));
    return { type: EventType.PUT, kv: { key, value, modRevision: 1n + index } };
  };
  async function* watch(requests: AsyncIterable<{ requestUnion: { value: { startRevision: bigint } } }>) {
    const { value } = await requests[Symbol.asyncIterator]().next();
    const { startRevision } = value.requestUnion.value;
    starts.push(startRevision);
    // As etcd does with batches of 1,000 revisions.
    const answer = { header: { clusterId: 1n, revision: 3n }, canceled: false };
    yield { ...answer, created: true, events: [] };
    yield { ...answer, created: false, events: [eventOf(startRevision - 1n)] };
    if (startRevision < 3n) throw new RpcError(Code.Unavailable, "by the test");
    await new Promise(() => {});
  }
  const range = async () => ({ kvs: [], revision: 1n, cluster: 1n });
  const tree = createEtcdTree({ range, watch: { watch } } as unknown as EtcdClient, 15_000);
  const lists: (readonly string[])[] = [];
  onTestFinished(tree.watchNames("/a", { onValue: (names) => void lists.push(names), onFailure: () => {} }));
  await expect.poll(() => lists.at(-1)).toEqual(["1", "2"]);
  expect(starts).toEqual([2n, 3n]);
});
