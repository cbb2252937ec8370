/**
 * The formats of Dubbo's registries. Expected texts were captured from Dubbo for Java 3.3.6 and dubbo-go 3.3.2; the revision
 * was computed by `MetadataInfo.calAndGetRevision` of Dubbo for Java 3.3.6.
 */
import fc from "fast-check";
import type { Instance } from "triple-es/discovery";
import { describe, expect, it } from "vitest";
import { matchKeyOf, parseMetadata, revisionOf } from "../../../../dubbo/src/registry/dubbo/metadata.ts";
import { decodeName, parseProvider, writeProviderUrl } from "../../../../dubbo/src/registry/dubbo/provider-url.ts";
import {
  endpointOfInstance,
  instanceMetadata,
  metadataAddress,
  parseInstance,
  writeCuratorInstance,
  writeGoInstance,
} from "../../../../dubbo/src/registry/dubbo/service-instance.ts";
import { addToMapping, parseMapping } from "../../../../dubbo/src/registry/dubbo/service-key.ts";

const SERVICE = "greet.v1.GreetService";

/** The name of a node that Dubbo for Java has written in ZooKeeper. */
const JAVA_PROVIDER =
  "tri%3A%2F%2F127.0.0.1%3A20880%2Fgreet.v1.GreetService%3Fapplication%3Dgreet-java%26deprecated%3Dfalse%26dubbo%3D2.0.2" +
  "%26dubbo.tag%3Dgray%26dynamic%3Dtrue%26generic%3Dfalse%26group%3Dblue%26interface%3Dgreet.v1.GreetService%26logger%3Djdk" +
  "%26metadata-type%3Dlocal%26methods%3Dgreet%2CgreetAsync%26prefer.serialization%3Dhessian2%2Cfastjson2%26release%3D3.3.6" +
  "%26revision%3D1.2.3%26service-name-mapping%3Dtrue%26side%3Dprovider%26timestamp%3D1795300435125%26version%3D1.2.3%26weight%3D250";

const JAVA_INSTANCE = JSON.stringify({
  name: "greet-java",
  id: "127.0.0.1:20880",
  address: "127.0.0.1",
  port: 20_880,
  sslPort: null,
  payload: {
    "@class": "org.apache.dubbo.registry.zookeeper.ZookeeperInstance",
    id: "127.0.0.1:20880",
    name: "greet-java",
    metadata: {
      "dubbo.endpoints": '[{"port":20880,"protocol":"tri"}]',
      "dubbo.metadata-service.url-params":
        '{"prefer.serialization":"hessian2,fastjson2","version":"2.0.0","dubbo":"2.0.2","release":"3.3.6","side":"provider","port":"20880","protocol":"tri"}',
      "dubbo.metadata.revision": "37ae5b5d7cb6bbfa54f0b4a294aaebd7",
      "dubbo.metadata.storage-type": "local",
      "meta-v": "2.0.0",
      timestamp: "1795300435125",
    },
  },
  registrationTimeUTC: 1_795_300_436_503,
  serviceType: "DYNAMIC",
  uriSpec: null,
});

const GO_INSTANCE = JSON.stringify({
  ID: "127.0.0.1:20890",
  ServiceName: "greet-go",
  Host: "127.0.0.1",
  Port: 20_890,
  Weight: 0,
  Enable: true,
  Healthy: true,
  Metadata: {
    "dubbo.endpoints": '[{"port":20890,"protocol":"tri"}]',
    "dubbo.metadata-service.url-params":
      '{"group":"greet-go","port":"44329","protocol":"dubbo","release":"3.3.2","serialization":"hessian2","version":"1.0.0"}',
    "dubbo.metadata.revision": "a20881a2",
    "dubbo.metadata.storage-type": "local",
    "meta-v": "1.0.0",
  },
  ServiceMetadata: {
    app: "greet-go",
    services: {
      "greet.v1.GreetService:tri": {
        name: SERVICE,
        protocol: "tri",
        path: SERVICE,
        params: { weight: "0", release: "dubbo-golang-3.3.2" },
      },
    },
  },
});

const OURS: Instance = {
  application: "shop",
  host: "10.0.0.1",
  port: 50_051,
  services: [{ service: SERVICE, group: "blue", version: "1.2.3" }],
  weight: 250,
  since: 1_795_300_435_125,
  attributes: { "dubbo.tag": "gray" },
};

describe("a provider URL", () => {
  it("of Dubbo for Java is read", () => {
    const url = decodeName(JAVA_PROVIDER) ?? "";
    expect(parseProvider(url)).toMatchObject({
      key: { service: SERVICE, group: "blue", version: "1.2.3" },
      application: "greet-java",
      endpoint: {
        address: "127.0.0.1:20880",
        weight: 250,
        since: 1_795_300_435_125,
        attributes: { "dubbo.tag": "gray" },
      },
    });
  });

  it("of dubbo-go is read: its weight 0 means that none is set, and its timestamp has seconds", () => {
    const url = `tri://127.0.0.1:20890/${SERVICE}?interface=${SERVICE}&release=dubbo-golang-3.3.2&timestamp=1795300435&weight=0`;
    expect(parseProvider(url)?.endpoint).toMatchObject({ weight: 100, since: 1_795_300_435_000 });
    const java = url.replace("dubbo-golang-3.3.2", "3.3.6");
    expect(parseProvider(java)?.endpoint.weight).toBe(0);
  });

  it("has the zone of its label zone, or else region", () => {
    const zoneOf = (labels: string) =>
      parseProvider(`tri://127.0.0.1:20890/${SERVICE}?interface=${SERVICE}&${labels}`)?.endpoint.zone;
    expect(["zone=z1&region=r1", "zone=&region=r1", "a=b"].map(zoneOf)).toEqual(["z1", "r1", undefined]);
  });

  it("of ours has the parameters that Java and Go need, and always a weight", () => {
    expect(writeProviderUrl({ ...OURS, weight: undefined, since: undefined }, { service: SERVICE })).toBe(
      `tri://10.0.0.1:50051/${SERVICE}?application=shop&dubbo=2.0.2&dubbo.tag=gray&dynamic=true&interface=${SERVICE}` +
        "&release=triple-es-0.1.0&side=provider&weight=100",
    );
  });

  it.each([
    `dubbo://h:1/${SERVICE}`,
    `tri://h:1/${SERVICE}?enabled=false`,
    `tri://h:1/${SERVICE}?disabled=true`,
    `tri://h:1/${SERVICE}?category=routers`,
  ])("%s is not a provider for us, and no fault", (url) => {
    expect(parseProvider(url)).toBeUndefined();
  });

  it.each([
    "",
    "nonsense",
    "tri://h/x",
    "tri://h:0/x",
    "tri://h:99999/x",
    "tri://h:1",
    "tri://[::1:1/x",
    "tri://h:1/?a=b",
  ])("%j is refused with a reason", (url) => {
    expect(() => parseProvider(url)).toThrow(/^(it|address) /);
  });

  it("of ours is read as it was written", () => {
    const word = fc.stringMatching(/^[a-zA-Z0-9._-]{1,12}$/);
    const value = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }).filter((text) => !text.includes("&"));
    const host = fc.oneof(
      word.map((name) => `h${name}`),
      fc.ipV4(),
      fc.ipV6().filter((one) => !one.includes(".")),
    );
    const port = fc.integer({ min: 1, max: 65_535 });
    const weight = fc.integer({ min: 0, max: 1e6 });
    const since = fc.integer({ min: 1e12, max: 2e12 });
    fc.assert(
      fc.property(
        word,
        host,
        port,
        weight,
        since,
        word,
        value,
        word,
        (application, name, at, share, start, group, tag, version) => {
          const instance: Instance = {
            ...OURS,
            application,
            host: name,
            port: at,
            weight: share,
            since: start,
            attributes: { "dubbo.tag": tag },
          };
          const written = writeProviderUrl(instance, { service: SERVICE, group, version });
          const url = decodeName(encodeURIComponent(written));
          expect(url).toBe(written);
          expect(parseProvider(url ?? "")).toMatchObject({
            key: { service: SERVICE, group, version },
            application,
            endpoint: {
              address: name.includes(":") ? `[${name}]:${at}` : `${name}:${at}`,
              weight: share,
              since: start,
              attributes: { "dubbo.tag": tag },
            },
          });
        },
      ),
    );
  });

  it("of a peer never ends in anything but a provider, nothing, or a reason", () => {
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: "binary" }),
      fc.string().map((rest) => `tri://h:1/s?${rest}`),
    );
    fc.assert(
      fc.property(text, (url) => {
        try {
          parseProvider(decodeName(url) ?? "");
        } catch (error) {
          expect((error as Error).constructor).toBe(Error);
        }
      }),
    );
  });
});

describe("the revision", () => {
  it("is the one that Dubbo for Java computes", () => {
    const parameters = { side: "provider", application: "shop", weight: "250", ü: "ä b" };
    const described = [
      { service: "greet.v1.Other", protocol: "tri", port: 50_051, path: "greet.v1.Other", parameters: {} },
      { service: SERVICE, group: "blue", version: "1.2.3", protocol: "tri", port: 50_051, path: SERVICE, parameters },
    ];
    expect(described.map(matchKeyOf)).toEqual(["greet.v1.Other:tri", `blue/${SERVICE}:1.2.3:tri`]);
    expect(revisionOf("shop", described)).toBe("108e0090e3218c0cb2b458e28224b050");
    expect(revisionOf("shop", described.toReversed())).toBe("108e0090e3218c0cb2b458e28224b050");
    expect(revisionOf("x", [])).toBe("0");
  });

  it("depends neither on the host nor on weight, start and attributes", () => {
    const revision = instanceMetadata(OURS)["dubbo.metadata.revision"];
    const moved = { ...OURS, host: "10.0.0.2", weight: 1, since: 5, attributes: {} };
    expect(instanceMetadata(moved)["dubbo.metadata.revision"]).toBe(revision);
    const other = { ...OURS, services: [{ service: SERVICE }] };
    expect(instanceMetadata(other)["dubbo.metadata.revision"]).not.toBe(revision);
  });
});

describe("an instance", () => {
  it("of Dubbo for Java is read, with the address of its metadata service", () => {
    const instance = parseInstance(JAVA_INSTANCE, "greet-java");
    if (instance === undefined) throw new Error("it is not read");
    expect(metadataAddress(instance)).toBe("127.0.0.1:20880");
    expect(endpointOfInstance(instance, { service: SERVICE }, undefined)).toEqual({
      address: "127.0.0.1:20880",
      weight: 100,
      since: 1_795_300_435_125,
      attributes: { application: "greet-java" },
    });
  });

  it("of dubbo-go is read with the services in it; its metadata service speaks another protocol", () => {
    const instance = parseInstance(GO_INSTANCE, "greet-go");
    if (instance === undefined) throw new Error("it is not read");
    expect(metadataAddress(instance)).toBeUndefined();
    expect(endpointOfInstance(instance, { service: SERVICE }, undefined)).toMatchObject({
      address: "127.0.0.1:20890",
      weight: 100,
    });
    expect(endpointOfInstance(instance, { service: "greet.v1.Other" }, undefined)).toBeUndefined();
    expect(endpointOfInstance(instance, { service: SERVICE, group: "blue" }, undefined)).toBeUndefined();
    expect(endpointOfInstance(instance, { service: SERVICE, group: "*", version: "*" }, undefined)).toBeDefined();
  });

  it.each([
    ["Curator", (instance: Instance) => writeCuratorInstance(instance, 1)],
    ["dubbo-go", writeGoInstance],
  ])("of ours is read as it was written in the form of %s", (_form, write) => {
    for (const host of ["10.0.0.1", "::1", "greet.example"]) {
      const instance = parseInstance(write({ ...OURS, host }), "shop");
      if (instance === undefined) throw new Error("it is not read");
      const address = host === "::1" ? "[::1]:50051" : `${host}:50051`;
      expect(metadataAddress(instance)).toBe(address);
      expect(endpointOfInstance(instance, { service: SERVICE }, undefined)).toEqual({
        address,
        weight: 250,
        since: 1_795_300_435_125,
        attributes: { "dubbo.tag": "gray", application: "shop" },
      });
    }
  });

  it("has the zone of its label zone, or else region", () => {
    const zoneOf = (attributes: Record<string, string>) => {
      const instance = parseInstance(writeGoInstance({ ...OURS, attributes }), "shop");
      return instance && endpointOfInstance(instance, { service: SERVICE }, undefined)?.zone;
    };
    expect([{ zone: "z1", region: "r1" }, { zone: "", region: "r1" }, {}].map(zoneOf)).toEqual(["z1", "r1", undefined]);
  });

  it("has the parameters of its service before its own, as in Dubbo for Java", () => {
    const instance = parseInstance(JAVA_INSTANCE, "greet-java");
    if (instance === undefined) throw new Error("it is not read");
    Object.assign(instance.metadata, { env: "prod", zone: "z1" });
    const parameters = {
      "dubbo.tag": "gray",
      env: "canary",
      zone: "",
      weight: "7",
      interface: SERVICE,
      application: "x",
    };
    const service = { service: SERVICE, protocol: "tri", port: 20_880, path: SERVICE, parameters };
    expect(endpointOfInstance(instance, { service: SERVICE }, [service])).toMatchObject({
      weight: 7,
      zone: "z1",
      attributes: { "dubbo.tag": "gray", env: "canary", zone: "z1", application: "greet-java" },
    });
  });

  it("without services, disabled, or of another protocol has no endpoint", () => {
    const empty = parseInstance(writeGoInstance({ ...OURS, services: [] }), "shop");
    expect(empty && endpointOfInstance(empty, { service: SERVICE }, undefined)).toBeUndefined();
    expect(parseInstance(GO_INSTANCE.replace('"Enable":true', '"Enable":false'), "greet-go")).toBeUndefined();
    const dubbo = parseInstance(
      JAVA_INSTANCE.replace('protocol\\":\\"tri\\"}]', 'protocol\\":\\"dubbo\\"}]'),
      "greet-java",
    );
    expect(dubbo && endpointOfInstance(dubbo, { service: SERVICE }, undefined)).toBeUndefined();
  });

  it("of any JSON is an instance, nothing, or a reason", () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string()), fc.jsonValue(), (json, endpoints) => {
        const texts = [
          json,
          JSON.stringify({ Host: "h", Port: 1, Metadata: { "dubbo.endpoints": JSON.stringify(endpoints) } }),
        ];
        for (const text of texts) {
          try {
            const instance = parseInstance(text, "shop");
            if (instance === undefined) continue;
            metadataAddress(instance);
            endpointOfInstance(instance, { service: SERVICE }, undefined);
          } catch (error) {
            expect((error as Error).constructor).toBe(Error);
          }
        }
      }),
    );
  });
});

describe("stored metadata", () => {
  it("of Dubbo for Java is read; malformed ones are not", () => {
    const services = {
      [`${SERVICE}:tri`]: { name: SERVICE, params: { side: "provider" }, path: SERVICE, port: 20_881, protocol: "tri" },
      bad: null,
    };
    expect(parseMetadata({ app: "greet-java-remote", revision: "1", services })).toEqual([
      {
        service: SERVICE,
        group: undefined,
        version: undefined,
        protocol: "tri",
        port: 20_881,
        path: SERVICE,
        parameters: { side: "provider" },
      },
    ]);
    for (const value of [null, 1, [], {}, { services: 1 }, { services: null }])
      expect(parseMetadata(value)).toBeUndefined();
  });
});

describe("the mapping", () => {
  it("has each application once, in the order in which they came", () => {
    const names = fc.array(fc.stringMatching(/^[a-z-]{1,5}$/), { maxLength: 20 });
    fc.assert(
      fc.property(names, (applications) => {
        let content: string | undefined;
        for (const application of applications) content = addToMapping(content, application) ?? content;
        expect(parseMapping(content)).toEqual([...new Set(applications)]);
      }),
    );
    expect(parseMapping(" a, b,,a,")).toEqual(["a", "b"]);
    expect(addToMapping("a,b", "b")).toBeUndefined();
  });
});
