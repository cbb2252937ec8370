/** The provider URLs of instances at the interface level. */
import { formatAddress, TRIPLE } from "../dubbo/service-key.ts";
import { EntryCounter } from "../steps.ts";
import type { Watcher } from "../watch.ts";
import type { NacosInstance } from "./naming.ts";

/** Returns a watcher that converts lists to provider URLs in steps, and reports the result unless there is a later list. */
export function watchUrls({ onValue, onFailure }: Watcher<readonly string[]>): Watcher<readonly NacosInstance[]> {
  let last: readonly NacosInstance[] = [];
  const convert = async (instances: readonly NacosInstance[]): Promise<void> => {
    last = instances;
    const steps = new EntryCounter();
    const urls: string[] = [];
    for (const instance of instances) {
      const url = urlOf(instance);
      urls.push(url);
      const turn = steps.countText(url);
      if (turn !== undefined) await turn;
      if (last !== instances) return;
    }
    onValue(urls);
  };
  // The conversion throws for values that are not as the protocol of Nacos says, such as a number for an address.
  return { onValue: (instances) => void convert(instances).catch(onFailure), onFailure };
}

/** Returns the provider URL of an instance at the interface level, whose parameters are its metadata. */
function urlOf({ ip, port, metadata }: NacosInstance): string {
  const { protocol = TRIPLE, path = metadata["interface"] ?? "", ...parameters } = metadata;
  const query = Object.entries(parameters).map(([name, value]) => `${name}=${value}`);
  return `${protocol}://${formatAddress(ip, port)}/${path}?${query.join("&")}`;
}
