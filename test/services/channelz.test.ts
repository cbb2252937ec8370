/** The channelz service: pages, counters and states, in memory and on sockets. */
import { TLSSocket } from "node:tls";
import { Code, createInMemoryTransport, createRouter, RpcError, type Transport } from "triple-es";
import { fixed } from "triple-es/discovery";
import { createServer, createTransport } from "triple-es/node";
import { addChannelz } from "triple-es/reflection";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createGreetServiceClient, GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import {
  ChannelTraceEvent_Severity as Severity,
  ChannelConnectivityState_State as State,
} from "../../fixtures/gen/grpc/channelz/v1/channelz_pb.ts";
import { createChannelzClient } from "../../fixtures/gen/grpc/channelz/v1/channelz_triple.ts";
import { CallCounts } from "../../runtime/src/http/channel-state.ts";
import { hasOpenssl, sharedCertificates } from "../support/certificate.ts";
import { failureOf, greeter, startServer } from "../support/server.ts";

function asking(options?: Parameters<typeof addChannelz>[1]) {
  const router = createRouter();
  addChannelz(router, options);
  return createChannelzClient(createInMemoryTransport(router));
}

function connect(options: Parameters<typeof createTransport>[0]) {
  const transport = createTransport(options);
  onTestFinished(() => transport.close({ graceMs: 0 }));
  return transport;
}

describe("pages", () => {
  const servers = [createRouter(), createRouter(), createRouter()];

  it("have the results in the order of their ids, as many as asked for, and tell the last one", async () => {
    const channelz = asking({ servers });
    const idsOf = async (startServerId: bigint, maxResults: bigint) => {
      const { server, end } = await channelz.getServers({ startServerId, maxResults });
      return [...server.map(({ ref }) => ref?.serverId), end];
    };
    expect(await idsOf(0n, 0n)).toEqual([1n, 2n, 3n, true]);
    expect(await idsOf(0n, 2n)).toEqual([1n, 2n, false]);
    expect(await idsOf(3n, 2n)).toEqual([3n, true]);
    expect(await idsOf(1n, 3n)).toEqual([1n, 2n, 3n, true]);
    expect(await idsOf(4n, 2n)).toEqual([true]);
  });

  it("have at most 100 results", async () => {
    const channelz = asking({ servers: Array.from({ length: 101 }, () => createRouter()) });
    const { server, end } = await channelz.getServers({ maxResults: 1_000_000n });
    expect([server.length, end]).toEqual([100, false]);
  });

  it("follow a set of servers that changes, whose members keep their ids", async () => {
    const set = new Set(servers);
    const channelz = asking({ servers: set });
    set.delete(servers[0] as (typeof servers)[number]);
    set.add(createRouter());
    const { server } = await channelz.getServers({});
    expect(server.map(({ ref }) => ref?.serverId)).toEqual([2n, 3n, 4n]);
  });

  it("refuses negative numbers, and ids that do not exist", async () => {
    const channelz = asking();
    for (const page of [{ startServerId: -1n }, { maxResults: -1n }]) {
      expect(await failureOf(channelz.getServers(page))).toMatchObject({ code: Code.InvalidArgument });
    }
    const requests = [
      channelz.getServer({ serverId: 9n }),
      channelz.getServerSockets({ serverId: 9n }),
      channelz.getChannel({ channelId: 1n }),
      channelz.getSubchannel({ subchannelId: 1n }),
      channelz.getSocket({ socketId: -1n }),
    ];
    for (const request of requests) expect(await failureOf(request)).toMatchObject({ code: Code.NotFound });
  });
});

describe("a server", () => {
  it("counts its calls, those of services that were added before included", async () => {
    let fails = false;
    const router = createRouter().add(GreetServiceDef, {
      ...greeter,
      greet() {
        if (fails) throw new RpcError(Code.NotFound, "unknown name");
        return { greeting: "Hello!" };
      },
    });
    const client = createGreetServiceClient(createInMemoryTransport(router));
    await client.greet({ name: "before" });
    addChannelz(router);
    const channelz = createChannelzClient(createInMemoryTransport(router));
    await client.greet({ name: "Ada" });
    for await (const _ of client.greetEach({ names: ["Ada", "Bob"] }));
    fails = true;
    await failureOf(client.greet({ name: "Ada" }));
    const { server } = await channelz.getServer({ serverId: 1n });
    // The request for the counts has begun too.
    expect(server?.data).toMatchObject({ callsStarted: 4n, callsSucceeded: 2n, callsFailed: 1n });
    expect(server?.data?.lastCallStartedTimestamp).toBeDefined();
  });

  it.skipIf(!hasOpenssl)("reads the certificates of the socket that is asked for alone", async () => {
    const { ca, server: tls } = sharedCertificates();
    const { server, baseUrl } = await startServer({}, { tls });
    const channelz = asking({ servers: [server] });
    const clients = [1, 2, 3].map(() => createGreetServiceClient(connect({ baseUrl, tls: { ca } })));
    await Promise.all(clients.map((client) => client.greet({})));
    const reads = vi.spyOn(TLSSocket.prototype, "getPeerX509Certificate");
    onTestFinished(() => reads.mockRestore());
    const { socketRef } = await channelz.getServerSockets({ serverId: 1n });
    const sockets = await Promise.all(socketRef.map(({ socketId }) => channelz.getSocket({ socketId })));
    expect(sockets.map(({ socket }) => socket?.security?.model.case)).toEqual(["tls", "tls", "tls"]);
    expect(reads).toHaveBeenCalledTimes(3);
  });

  it("shows where it listens, and its connections with their streams", async () => {
    const { server, port, baseUrl } = await startServer();
    const channelz = asking({ servers: [server] });
    await createGreetServiceClient(connect({ baseUrl })).greet({ name: "Ada" });
    await createGreetServiceClient(connect({ baseUrl, protocol: "http-rpc" })).greet({ name: "Ada" });
    const { server: shown } = await channelz.getServer({ serverId: 1n });
    expect(shown?.ref?.name).toBe(`127.0.0.1:${port}`);
    const socketOf = async (socketId = 0n) => (await channelz.getSocket({ socketId })).socket;
    const ipAddress = new Uint8Array([127, 0, 0, 1]);
    const local = { address: { case: "tcpipAddress", value: { ipAddress, port } } };
    expect(await socketOf(shown?.listenSocket[0]?.socketId)).toMatchObject({ local });
    const first = await channelz.getServerSockets({ serverId: 1n, maxResults: 1n });
    expect([first.socketRef.length, first.end]).toEqual([1, false]);
    const next = (first.socketRef[0]?.socketId ?? 0n) + 1n;
    const second = await channelz.getServerSockets({ serverId: 1n, startSocketId: next });
    expect([second.socketRef.length, second.end]).toEqual([1, true]);
    const sockets = await Promise.all([...first.socketRef, ...second.socketRef].map((ref) => socketOf(ref.socketId)));
    for (const socket of sockets)
      expect(socket).toMatchObject({ local, remote: { address: { case: "tcpipAddress" } } });
    const streams = sockets.map((socket) => socket?.data?.streamsStarted);
    expect(streams.sort()).toEqual([0n, 1n]);
    const http2 = sockets.find((socket) => socket?.data?.streamsStarted === 1n);
    expect(http2?.data).toMatchObject({ streamsSucceeded: 1n, streamsFailed: 0n });
    expect(http2?.data?.remoteFlowControlWindow).toBeGreaterThan(65_535n);
  });

  it("shows addresses of IPv4, of IPv6 and of Unix sockets", async () => {
    const of = (address: string, port?: number) => ({ key: {}, local: { address, port } });
    const listening = [
      of("192.0.2.1", 80),
      of("fe80::1:2%eth0", 81),
      of("::", 82),
      of("::ffff:192.0.2.1", 83),
      of("/run/a"),
    ];
    const state = { calls: new CallCounts(), listening, sockets: [] };
    const channelz = asking({ servers: [Object.assign(createRouter(), { "~state": () => state })] });
    const { listenSocket = [] } = (await channelz.getServer({ serverId: 1n })).server ?? {};
    expect(listenSocket.map(({ name }) => name)).toEqual([
      "192.0.2.1:80",
      "[fe80::1:2%eth0]:81",
      "[::]:82",
      "[::ffff:192.0.2.1]:83",
      "/run/a",
    ]);
    const sockets = await Promise.all(listenSocket.map(({ socketId }) => channelz.getSocket({ socketId })));
    const bytes = sockets.map(({ socket }) => {
      const { value } = socket?.local?.address ?? {};
      return value?.$typeName === "grpc.channelz.v1.Address.TcpIpAddress" ? value.ipAddress.join(".") : value;
    });
    expect(bytes).toMatchObject([
      "192.0.2.1",
      "254.128.0.0.0.0.0.0.0.0.0.0.0.1.0.2",
      "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0",
      "0.0.0.0.0.0.0.0.0.0.255.255.192.0.2.1",
      { filename: "/run/a" },
    ]);
  });

  it("refuses what is no router or transport of sockets", () => {
    const router = createRouter();
    expect(() => addChannelz(router, { servers: [{} as typeof router] })).toThrow(TypeError);
    const transports: Transport[] = [createInMemoryTransport(router)];
    expect(() => addChannelz(router, { transports })).toThrow("createTransport of triple-es/node");
    const [transport] = transports;
    expect(() => addChannelz(router, { transports: transport as never })).toThrow("is not iterable");
  });
});

describe("a transport", () => {
  it("shows its state, its calls and its connections", async () => {
    const { port, baseUrl } = await startServer({
      greet({ name }) {
        if (name === "") throw new RpcError(Code.InvalidArgument, "no name");
        return { greeting: name };
      },
    });
    const transport = connect({ baseUrl });
    const channelz = asking({ servers: [], transports: [transport] });
    const top = async () => (await channelz.getTopChannels({})).channel[0];
    expect((await top())?.data?.state?.state).toBe(State.IDLE);
    const client = createGreetServiceClient(transport);
    await client.greet({ name: "Ada" });
    await failureOf(client.greet({ name: "" }));
    const channel = await top();
    expect(channel?.data).toMatchObject({
      target: `127.0.0.1:${port}`,
      state: { state: State.READY },
      callsStarted: 2n,
      callsSucceeded: 1n,
      callsFailed: 1n,
    });
    expect(channel?.data?.trace?.creationTimestamp).toBeDefined();
    const { subchannel } = await channelz.getSubchannel({
      subchannelId: channel?.subchannelRef[0]?.subchannelId ?? 0n,
    });
    expect(subchannel?.data).toMatchObject({ state: { state: State.READY }, callsStarted: 2n, callsSucceeded: 2n });
    const { socket } = await channelz.getSocket({ socketId: subchannel?.socketRef[0]?.socketId ?? 0n });
    expect(socket?.remote?.address.value).toMatchObject({ port });
    expect(socket?.data).toMatchObject({ streamsStarted: 2n, streamsSucceeded: 2n, streamsFailed: 0n });
    await transport.close();
    expect((await top())?.data?.state?.state).toBe(State.SHUTDOWN);
    const closed = await channelz.getSubchannel({ subchannelId: subchannel?.ref?.subchannelId ?? 0n });
    expect(closed.subchannel).toMatchObject({ data: { callsStarted: 2n, callsSucceeded: 2n }, socketRef: [] });
  });

  it("counts a stream that is cancelled as failed, on both sides", async () => {
    const { server, baseUrl } = await startServer({
      async *greetEach(_, { signal }) {
        yield { greeting: "Hello!" };
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    });
    const transport = connect({ baseUrl });
    const channelz = asking({ servers: [server], transports: [transport] });
    for await (const _ of createGreetServiceClient(transport).greetEach({ names: [] })) break;
    const { socketRef: served } = await channelz.getServerSockets({ serverId: 1n });
    const { channel } = await channelz.getTopChannels({});
    const { subchannel } = await channelz.getSubchannel({
      subchannelId: channel[0]?.subchannelRef[0]?.subchannelId ?? 0n,
    });
    expect(channel[0]?.data).toMatchObject({ callsStarted: 1n, callsSucceeded: 0n, callsFailed: 1n });
    for (const socketId of [served[0]?.socketId ?? 0n, subchannel?.socketRef[0]?.socketId ?? 0n]) {
      const streams = async () => (await channelz.getSocket({ socketId })).socket?.data;
      await expect.poll(async () => (await streams())?.streamsFailed).toBe(1n);
      expect(await streams()).toMatchObject({ streamsStarted: 1n, streamsSucceeded: 0n });
    }
  });

  it("shows every endpoint of a resolver, those that fail too", async () => {
    const { port } = await startServer();
    const closed = createServer();
    await closed.listen({ port: 0, host: "127.0.0.1" });
    const unused = closed.address.port;
    await closed.close();
    const transport = connect({ resolver: fixed([`127.0.0.1:${port}`, `127.0.0.1:${unused}`]) });
    const channelz = asking({ servers: [], transports: [transport] });
    await createGreetServiceClient(transport).greet({ name: "Ada" });
    await expect
      .poll(async () => {
        const { channel } = await channelz.getTopChannels({});
        const refs = channel[0]?.subchannelRef ?? [];
        const all = await Promise.all(refs.map(({ subchannelId }) => channelz.getSubchannel({ subchannelId })));
        return all.map(({ subchannel }) => [subchannel?.data?.target, subchannel?.data?.state?.state]);
      })
      .toEqual([
        [`127.0.0.1:${port}`, State.READY],
        [`127.0.0.1:${unused}`, State.TRANSIENT_FAILURE],
      ]);
    const { data } = (await channelz.getChannel({ channelId: 1n })).channel ?? {};
    expect(data?.state?.state).toBe(State.READY);
    const events = data?.trace?.events.map(({ description, severity }) => [description.split(": ")[0], severity]);
    expect(events).toContainEqual(["resolved 2", Severity.CT_INFO]);
    expect(events).toContainEqual([`endpoint 127.0.0.1:${port} ready`, Severity.CT_INFO]);
    expect(events).toContainEqual([
      expect.stringContaining(`endpoint 127.0.0.1:${unused} failing`),
      Severity.CT_WARNING,
    ]);
    expect(data?.trace?.numEventsLogged).toBe(BigInt(events?.length ?? 0));
  });

  it("keeps the last 30 events of a target, and counts all", async () => {
    const { port } = await startServer();
    const resolver = async function* () {
      for (let count = 0; count < 40; count++) yield [{ address: `127.0.0.1:${port}` }];
    };
    const transport = connect({ resolver });
    const channelz = asking({ servers: [], transports: [transport] });
    await createGreetServiceClient(transport).greet({ name: "Ada" });
    const trace = async () => (await channelz.getChannel({ channelId: 1n })).channel?.data?.trace;
    // There are 40 lists, and the endpoint became ready.
    await expect.poll(async () => (await trace())?.numEventsLogged).toBeGreaterThan(40n);
    expect((await trace())?.events).toHaveLength(30);
  });
});
