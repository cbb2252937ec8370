/**
 * A model of a ZooKeeper ensemble at the bytes of its protocol: sessions that expire, ephemeral nodes, one-shot watches. All
 * members share one state, as if each write were replicated at once. Sessions do not expire while no member is up.
 */
import { FrameSplitter, JuteReader, JuteWriter } from "../../dubbo/src/registry/zookeeper/jute.ts";
import { Change, Failure, Op, Xid } from "../../dubbo/src/registry/zookeeper/protocol.ts";
import { type Network, SimulatedServer } from "./network.ts";
import type { Random } from "./random.ts";
import { memberAddress, type RegistryModel } from "./registry-model.ts";
import type { SimulatedSocket } from "./socket.ts";

const NOT_EMPTY = -111;
const UNIMPLEMENTED = -6;
const MAX_FRAME_BYTES = 1_000_000;
/** Time after which a connection without a session is closed, in milliseconds. */
const HANDSHAKE_MS = 10_000;

interface Node {
  data: string;
  version: number;
  readonly owner: bigint;
  /** The transactions that changed its data and its children last. */
  changedAt: bigint;
  childrenChangedAt: bigint;
  readonly children: Set<string>;
}

interface Session {
  readonly id: bigint;
  readonly password: Buffer;
  readonly timeoutMs: number;
  peer: Peer | undefined;
  heardAt: number;
}

interface Peer {
  readonly socket: SimulatedSocket;
  session: Session | undefined;
}

type Write = (writer: JuteWriter) => unknown;

export class ZooKeeperModel implements RegistryModel {
  readonly port = 2181;
  readonly #network: Network;
  readonly #random: Random;
  readonly #onChange: () => void;
  readonly #up = new Set<number>();
  readonly #sessions = new Map<bigint, Session>();
  readonly #nodes = new Map<string, Node>();
  /** The peers that watch the data or the existence of a node, and those that watch its children. */
  #dataWatches = new Map<string, Set<Peer>>();
  #childWatches = new Map<string, Set<Peer>>();
  #zxid = 0n;
  #nextSession = 1n;
  /** Replies that will be malformed. */
  #malformed = 0;

  constructor(network: Network, onChange: () => void) {
    this.#network = network;
    this.#random = network.world.random("zookeeper");
    this.#onChange = onChange;
    this.#nodes.set("", this.#node("", 0n));
  }

  async start(member: number): Promise<void> {
    if (this.#up.has(member)) return;
    const { world } = this.#network;
    if (this.#up.size === 0) for (const session of this.#sessions.values()) session.heardAt = world.now;
    this.#up.add(member);
    new SimulatedServer(this.#network)
      .listen({ host: memberAddress(member), port: this.port })
      .on("connection", (socket: SimulatedSocket) => this.#accept(socket));
    await world.sleep(1);
  }

  async stop(member: number): Promise<void> {
    this.#up.delete(member);
  }

  compact(): void {}

  async close(): Promise<void> {}

  paths(): Iterable<string> {
    return this.#nodes.keys();
  }

  loseData(): void {
    for (const session of [...this.#sessions.values()]) this.#drop(session);
    this.#nodes.clear();
    this.#nodes.set("", this.#node("", 0n));
    this.#dataWatches = new Map();
    this.#childWatches = new Map();
    this.#zxid = 0n;
    this.#onChange();
  }

  /** Ends all sessions, as after a pause of all clients or a wrong clock of the leader. */
  expire(): void {
    for (const session of [...this.#sessions.values()]) this.#expire(session);
  }

  malform(replies: number): void {
    this.#malformed = replies;
  }

  #accept(socket: SimulatedSocket): void {
    const frames = new FrameSplitter(MAX_FRAME_BYTES);
    const peer: Peer = { socket, session: undefined };
    socket.on("error", () => {});
    this.#network.world.after(HANDSHAKE_MS, () => {
      if (peer.session?.peer !== peer) socket.destroy();
    });
    socket.on("close", () => {
      if (peer.session?.peer === peer) peer.session.peer = undefined;
      for (const watches of [this.#dataWatches, this.#childWatches])
        for (const set of watches.values()) set.delete(peer);
    });
    socket.on("data", (chunk: Buffer) => {
      for (const body of frames.push(chunk)) {
        if (socket.destroyed || socket.writableEnded) return;
        if (peer.session === undefined) this.#connect(peer, new JuteReader(body));
        else {
          peer.session.heardAt = this.#network.world.now;
          this.#serve(peer, peer.session, body);
        }
      }
    });
  }

  #connect(peer: Peer, reader: JuteReader): void {
    const [, seen, wanted, id] = [reader.int(), reader.long(), reader.int(), reader.long()];
    const password = reader.bytes();
    // The client has seen transactions that this ensemble has not: the data were lost.
    if (seen > this.#zxid) return void peer.socket.destroy();
    const known = this.#sessions.get(id);
    if (id !== 0n && !known?.password.equals(password)) {
      peer.socket.end(new JuteWriter().int(0).int(0).long(0n).bytes(Buffer.alloc(16)).frame());
      return;
    }
    const session = known ?? this.#begin(wanted);
    const before = session.peer;
    peer.session = session;
    session.peer = peer;
    session.heardAt = this.#network.world.now;
    // The session moves to this connection.
    before?.socket.destroy();
    peer.socket.write(new JuteWriter().int(0).int(session.timeoutMs).long(session.id).bytes(session.password).frame());
  }

  #begin(timeoutMs: number): Session {
    const { world } = this.#network;
    const password = Buffer.from(Array.from({ length: 16 }, () => this.#random.int(0, 255)));
    const session: Session = { id: this.#nextSession++, password, timeoutMs, peer: undefined, heardAt: world.now };
    this.#sessions.set(session.id, session);
    this.#zxid++;
    const check = (): void => {
      if (this.#sessions.get(session.id) !== session) return;
      if (this.#up.size === 0) session.heardAt = world.now;
      const left = session.heardAt + timeoutMs - world.now;
      if (left > 0) world.after(left, check);
      else this.#expire(session);
    };
    world.after(timeoutMs, check);
    return session;
  }

  #expire(session: Session): void {
    this.#network.world.note("expire", `session ${session.id}`);
    this.#end(session);
    session.peer?.socket.destroy();
  }

  /** Removes a session and its ephemeral nodes. */
  #end(session: Session): Write {
    this.#sessions.delete(session.id);
    for (const [path, { owner }] of [...this.#nodes]) if (owner === session.id) this.#delete(path);
    return noRecord;
  }

  #drop(session: Session): void {
    this.#sessions.delete(session.id);
    session.peer?.socket.destroy();
  }

  #serve(peer: Peer, session: Session, body: Uint8Array): void {
    const reader = new JuteReader(body);
    const [xid, type] = [reader.int(), reader.int()];
    const answer = this.#answer(peer, session, type, reader, body.at(-1) === 1);
    this.#reply(peer, xid, answer);
    if (type === Op.CloseSession) peer.socket.end();
  }

  /** Carries out a request. Returns the record of its reply, or the failure. `watches`: its last field, in those that watch. */
  #answer(peer: Peer, session: Session, type: number, reader: JuteReader, watches: boolean): Write | number {
    if (type === Op.Ping || type === Op.Auth) return noRecord;
    if (type === Op.SetWatches) return this.#setWatches(peer, reader);
    if (type === Op.CloseSession) return this.#end(session);
    const path = reader.string();
    if (type === Op.Create) return this.#create(path, session, reader);
    if (type === Op.Exists && watches) watch(this.#dataWatches, path, peer);
    const node = this.#nodes.get(path);
    if (node === undefined) return Failure.NoNode;
    if (type === Op.Exists) return (writer) => writeStat(writer, node);
    if (type === Op.GetData) {
      if (watches) watch(this.#dataWatches, path, peer);
      return (writer) => writeStat(writer.string(node.data), node);
    }
    if (type === Op.GetChildren2) {
      if (watches) watch(this.#childWatches, path, peer);
      return (writer) => writeStat(writer.strings([...node.children]), node);
    }
    const data = type === Op.SetData ? reader.string() : "";
    if (reader.int() !== node.version) return Failure.BadVersion;
    if (type === Op.SetData) {
      Object.assign(node, { data, version: node.version + 1, changedAt: ++this.#zxid });
      this.#fire([this.#dataWatches], path, Change.Data);
      return (writer) => writeStat(writer, node);
    }
    if (type !== Op.Delete) return UNIMPLEMENTED;
    if (node.children.size > 0) return NOT_EMPTY;
    this.#delete(path);
    return noRecord;
  }

  #node(data: string, owner: bigint): Node {
    return { data, version: 0, owner, changedAt: this.#zxid, childrenChangedAt: this.#zxid, children: new Set() };
  }

  #create(path: string, session: Session, reader: JuteReader): Write | number {
    const data = reader.string();
    for (let count = reader.int(); count > 0; count--) [reader.int(), reader.string(), reader.string()];
    const owner = reader.int() === 1 ? session.id : 0n;
    const [parentPath, name] = split(path);
    const parent = this.#nodes.get(parentPath);
    if (this.#nodes.has(path)) return Failure.NodeExists;
    if (parent === undefined) return Failure.NoNode;
    parent.childrenChangedAt = ++this.#zxid;
    parent.children.add(name);
    this.#nodes.set(path, this.#node(data, owner));
    this.#fire([this.#dataWatches], path, Change.Created);
    this.#fire([this.#childWatches], parentPath, Change.Children);
    this.#onChange();
    return (writer) => writer.string(path);
  }

  #delete(path: string): void {
    const [parentPath, name] = split(path);
    const parent = this.#nodes.get(parentPath) as Node;
    parent.childrenChangedAt = ++this.#zxid;
    parent.children.delete(name);
    this.#nodes.delete(path);
    this.#fire([this.#dataWatches, this.#childWatches], path, Change.Deleted);
    this.#fire([this.#childWatches], parentPath, Change.Children);
    this.#onChange();
  }

  /** Sets watches again after a reconnection, and reports what has changed since a transaction. */
  #setWatches(peer: Peer, reader: JuteReader): Write {
    const since = reader.long();
    const [data, exist, child] = [reader.strings(), reader.strings(), reader.strings()];
    for (const path of data) {
      const node = this.#nodes.get(path);
      if (node === undefined) this.#event(peer, path, Change.Deleted);
      else if (node.changedAt > since) this.#event(peer, path, Change.Data);
      else watch(this.#dataWatches, path, peer);
    }
    for (const path of exist) {
      if (this.#nodes.has(path)) this.#event(peer, path, Change.Created);
      else watch(this.#dataWatches, path, peer);
    }
    for (const path of child) {
      const node = this.#nodes.get(path);
      if (node === undefined) this.#event(peer, path, Change.Deleted);
      else if (node.childrenChangedAt > since) this.#event(peer, path, Change.Children);
      else watch(this.#childWatches, path, peer);
    }
    return noRecord;
  }

  #fire(tables: readonly Map<string, Set<Peer>>[], path: string, type: number): void {
    const peers = new Set(tables.flatMap((table) => [...(table.get(path) ?? [])]));
    for (const table of tables) table.delete(path);
    for (const peer of peers) this.#event(peer, path, type);
  }

  #event({ socket }: Peer, path: string, type: number): void {
    const writer = new JuteWriter().int(Xid.Watch).long(-1n).int(0).int(type).int(3).string(path);
    if (!socket.destroyed && !socket.writableEnded) socket.write(writer.frame());
  }

  #reply({ socket }: Peer, xid: number, answer: Write | number): void {
    const isMalformed = xid > 0 && this.#malformed > 0;
    if (isMalformed) this.#malformed--;
    const kind = isMalformed ? this.#random.pick(["xid", "short", "long", "list"] as const) : undefined;
    const writer = new JuteWriter().int(kind === "xid" ? xid + 1 : xid).long(this.#zxid);
    writer.int(typeof answer === "number" ? answer : 0);
    if (kind === "list") writer.int(2 ** 31 - 1);
    else if (kind !== "short" && typeof answer !== "number") answer(writer);
    const frame = Buffer.from(writer.frame());
    if (kind === "long") frame.writeInt32BE(-1, 0);
    socket.write(frame);
  }
}

function noRecord(): void {}

function split(path: string): [parent: string, name: string] {
  const slash = path.lastIndexOf("/");
  return [path.slice(0, slash), path.slice(slash + 1)];
}

function watch(table: Map<string, Set<Peer>>, path: string, peer: Peer): void {
  const peers = table.get(path);
  if (peers === undefined) table.set(path, new Set([peer]));
  else peers.add(peer);
}

function writeStat(writer: JuteWriter, { version, owner, changedAt, childrenChangedAt, data, children }: Node): void {
  writer.long(1n).long(changedAt).long(0n).long(0n).int(version).int(0).int(0);
  writer.long(owner).int(data.length).int(children.size).long(childrenChangedAt);
}
