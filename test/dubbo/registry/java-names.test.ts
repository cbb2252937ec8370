/** Services with Java names, which consumers in Java look for in registries and call by them. */
import type { Instance, Registry } from "triple-es/discovery";
import { createServer, createTransport } from "triple-es/node";
import { register } from "triple-es-dubbo";
import { expect, it, onTestFinished } from "vitest";
import { createPeerServiceClient, PeerServiceDef } from "../../interop/dubbo/gen/interop/v1/peer_triple.ts";
import { createPeerService } from "../../interop/dubbo/service.ts";

it("a service with java_names is served by both names, and registered under both", async () => {
  const server = createServer().add(PeerServiceDef, createPeerService("blue"), { group: "blue" });
  await server.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => server.close({ graceMs: 0 }));
  const baseUrl = `http://127.0.0.1:${server.address.port}`;
  for (const options of [{}, { javaNames: true }, { javaNames: true, protocol: "http-rpc" }] as const) {
    const transport = createTransport({ baseUrl, ...options });
    onTestFinished(() => transport.close());
    const call = createPeerServiceClient(transport, { group: "blue" }).unary({ text: "x" });
    expect(await call).toMatchObject({ text: "x", service: "blue" });
    const missing = createPeerServiceClient(transport, { group: "red" }).unary({ text: "x" });
    await expect(missing).rejects.toThrow(/unimplemented|not_found/);
  }
  const registered: Instance[] = [];
  const registry: Registry = {
    resolver: () => async function* () {},
    register: (instance) => {
      registered.push(instance);
      return { ready: Promise.resolve(), status: () => "registered", update: async () => {}, close: async () => {} };
    },
    close: async () => {},
  };
  register(server, registry, { application: "peer", propagationMs: 0 });
  expect(registered[0]?.services.map(({ service, group }) => `${group}/${service}`)).toEqual([
    "blue/interop.v1.PeerService",
    "blue/com.example.interop.PeerService",
  ]);
});
