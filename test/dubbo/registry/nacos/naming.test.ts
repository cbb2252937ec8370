/** Lists of Nacos with instances that their owners have written wrongly. */
import { describe, expect, it } from "vitest";
import { parseProvider } from "../../../../dubbo/src/registry/dubbo/provider-url.ts";
import { type NacosInstance, urlOf, usableInstances } from "../../../../dubbo/src/registry/nacos/naming.ts";

const good = { ip: "10.0.0.1", port: 50051, metadata: { interface: "a.B" } };

/** Returns the addresses of the entries that are not malformed, and the number of the others. */
function addressesOf(instances: readonly NacosInstance[]): { addresses: string[]; malformed: number } {
  const addresses: string[] = [];
  let malformed = 0;
  for (const instance of instances) {
    try {
      addresses.push(parseProvider(urlOf(instance))?.endpoint.address ?? "");
    } catch {
      malformed++;
    }
  }
  return { addresses, malformed };
}

describe("a list of Nacos", () => {
  it.each<[string, unknown]>([
    ["no address", { port: 1, metadata: { interface: "a.B" } }],
    ["null for an address", { ...good, ip: null }],
    ["a number for an address", { ...good, ip: 7 }],
    ["a text for a port", { ...good, port: "one" }],
    ["an object for a port", { ...good, port: {} }],
    ["null for the instance", null],
    ["a text for the instance", "10.0.0.1:1"],
    ["a list for the instance", [1]],
    ["numbers in the metadata", { ...good, metadata: { interface: 1 } }],
    ["a text for the metadata", { ...good, metadata: "interface=a.B" }],
  ])("has its other instances beside one with %s", (_what, host) => {
    const instances = usableInstances([host, good]);
    expect(instances).toHaveLength(2);
    expect(addressesOf(instances)).toEqual({ addresses: ["10.0.0.1:50051"], malformed: 1 });
  });

  it("has no instances that are unhealthy or disabled", () => {
    expect(
      usableInstances([
        { ...good, healthy: false },
        { ...good, enabled: false },
        { ...good, healthy: true },
      ]),
    ).toEqual([good]);
  });

  it.each([undefined, null, {}, "hosts", 1])("has no instances in %j", (hosts) => {
    expect(usableInstances(hosts)).toEqual([]);
  });
});
