/** The cache of the services of revisions. */
import { expect, it } from "vitest";
import { MetadataCache } from "../../../../dubbo/src/registry/dubbo/metadata-cache.ts";
import type { ServiceInstance } from "../../../../dubbo/src/registry/dubbo/service-instance.ts";
import type { DubboSource } from "../../../../dubbo/src/registry/dubbo/source.ts";

const instance = (revision: number): ServiceInstance => ({
  application: "shop",
  host: "10.0.0.1",
  port: 1,
  metadata: { "dubbo.metadata.revision": `r${revision}`, "dubbo.metadata.storage-type": "remote" },
});

it("asks ten instances at a time, also if a question begins while another one ends", async () => {
  let [running, most, asked] = [0, 0, 0];
  const answers: (() => void)[] = [];
  const read = async (): Promise<string> => {
    asked++;
    most = Math.max(most, ++running);
    await new Promise<void>((resolve) => answers.push(resolve));
    running--;
    return '{ "services": {} }';
  };
  const cache = new MetadataCache({ metadata: () => ({ read }) } as unknown as DubboSource);
  const loading = [
    cache.load(
      Array.from({ length: 11 }, (_, i) => instance(i)),
      undefined,
    ),
  ];
  for (let turn = 0, next = 11; turn < 100; turn++) {
    answers.shift()?.();
    for (let i = 0; i < 20; i++) {
      await null;
      if (next < 50) loading.push(cache.load([instance(next++)], undefined));
    }
  }
  await Promise.all(loading);
  expect([most, asked]).toEqual([10, 50]);
});
