/** Watches of etcd, with a client whose streams are lost. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Code, RpcError } from "triple-es";
import { expect, it, onTestFinished } from "vitest";
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
