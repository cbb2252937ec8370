/**
 * The nodes of ZooKeeper as a tree of entries. Entries of a session are ephemeral nodes; their parents are persistent.
 */
import { unlessAborted } from "triple-es/internal";
import { EntryCounter, MAX_PROVIDERS } from "../dubbo/limits.ts";
import { MAX_TRIES, type Tree } from "../tree.ts";
import { Changes, startWatch } from "../watch.ts";
import type { ZooKeeperClient } from "./client.ts";
import type { JuteReader, JuteWriter } from "./jute.ts";
import { Failure, Op, readStat, type Stat, writeAcl, ZooKeeperError } from "./protocol.ts";
import type { WatchKind } from "./watches.ts";

const EPHEMERAL = 1;
const PERSISTENT = 0;

interface Node {
  readonly content: string;
  readonly stat: Stat;
}

export function createZooKeeperTree(client: ZooKeeperClient, hasAuth: boolean): Tree {
  const nodes = new Nodes(client, hasAuth);

  /**
   * Runs `read`, and again after each change that its watches report. While the connection is lost but the session may
   * survive, it waits; if the ensemble is unreachable for longer, it throws.
   */
  async function follow(signal: AbortSignal, read: (scope: Scope) => Promise<void>): Promise<void> {
    const changes = new Changes();
    const scope = new Scope(client, changes.set);
    const stopOutage = client.onOutage(changes.fail);
    try {
      while (!signal.aborted) {
        try {
          await read(scope);
        } catch (reason) {
          if (reason instanceof ZooKeeperError) throw reason;
          await client.connected();
          continue;
        }
        await changes.next(signal);
      }
    } finally {
      stopOutage();
      scope.end();
    }
  }

  return {
    name: "zookeeper",
    hasConsoles: true,
    watchNames: (path, watcher) =>
      startWatch(watcher, (report, signal) =>
        follow(signal, async (scope) => report((await nodes.children(path, scope.callback(path))) ?? [])),
      ),
    watchContent: (path, watcher) =>
      startWatch(watcher, (report, signal) =>
        follow(signal, async (scope) => report((await nodes.get(path, scope.callback(path)))?.content)),
      ),
    watchContents: (path, watcher) =>
      startWatch(watcher, (report, signal) => {
        // The last contents, also those that a failed round has read: only nodes with an event are read again.
        const contents = new Map<string, string | undefined>();
        return follow(signal, async (scope) => {
          const children = (await nodes.children(path, scope.callback(path))) ?? [];
          // Each is a request. The reader of the list reports that there are more.
          const names = new Set(children.slice(0, MAX_PROVIDERS + 1));
          for (const child of contents.keys()) {
            if (names.has(child)) continue;
            contents.delete(child);
            scope.drop(`${path}/${child}`);
          }
          const read = async (child: string, childPath: string): Promise<void> => {
            try {
              contents.set(child, (await nodes.get(childPath, scope.callback(childPath)))?.content);
            } catch (reason) {
              scope.drop(childPath);
              throw reason;
            }
          };
          const steps = new EntryCounter();
          const reading: Promise<void>[] = [];
          for (const child of names) {
            const childPath = `${path}/${child}`;
            if (scope.isWatched(childPath) && contents.has(child)) continue;
            const one = read(child, childPath);
            // It may fail before all are waited for below.
            one.catch(() => {});
            reading.push(one);
            const turn = steps.count();
            if (turn !== undefined) await turn;
          }
          await Promise.all(reading);
          report(new Map([...contents].filter((entry): entry is [string, string] => entry[1] !== undefined)));
        });
      }),
    read: async (path) => (await nodes.get(path))?.content,
    change: (path, change) => nodes.change(path, change),
    async session(signal) {
      await unlessAborted(client.connected(), signal);
      const { id, lost } = client.session;
      const held = new Nodes(client, hasAuth, lost);
      return {
        lost,
        put: (path, content) => held.put(path, content, id),
        async remove(path) {
          await client.connectedSoon();
          await held.remove(path, id);
        },
      };
    },
    close: () => client.close(),
  };
}

/** The watches of one reader, with one callback for each path. */
class Scope {
  readonly #client: ZooKeeperClient;
  readonly #onChange: () => void;
  readonly #callbacks = new Map<string, () => void>();

  constructor(client: ZooKeeperClient, onChange: () => void) {
    this.#client = client;
    this.#onChange = onChange;
  }

  /** Returns the callback for the watches of a path. */
  callback(path: string): () => void {
    const known = this.#callbacks.get(path);
    if (known !== undefined) return known;
    const callback = (): void => {
      this.drop(path);
      this.#onChange();
    };
    this.#callbacks.set(path, callback);
    return callback;
  }

  /** Reports whether there was no change since the path was read. */
  isWatched(path: string): boolean {
    return this.#callbacks.has(path);
  }

  drop(path: string): void {
    const callback = this.#callbacks.get(path);
    if (callback === undefined) return;
    this.#callbacks.delete(path);
    this.#client.watches.remove(callback, path);
  }

  end(): void {
    for (const path of [...this.#callbacks.keys()]) this.drop(path);
  }
}

/** Operations on nodes: in one session if it has a signal of its loss, otherwise in any. */
class Nodes {
  readonly #watches: ZooKeeperClient["watches"];
  readonly #request: ZooKeeperClient["request"];
  readonly #hasAuth: boolean;

  constructor(client: ZooKeeperClient, hasAuth: boolean, lost?: AbortSignal) {
    this.#watches = client.watches;
    this.#request = (type, path, write, read, accepts) => client.request(type, path, write, read, accepts, lost);
    this.#hasAuth = hasAuth;
  }

  /** Returns the names of a node's children; `undefined` without the node. The callback reports a change. */
  children(path: string, callback: () => void): Promise<string[] | undefined> {
    return this.#read(Op.GetChildren2, "child", path, (reader) => reader.strings(), callback);
  }

  /** Returns a node; `undefined` if there is none. The callback reports a change. */
  get(path: string, callback?: () => void): Promise<Node | undefined> {
    return this.#read(Op.GetData, "data", path, readNode, callback);
  }

  /** Reads a part of a node. Watches are added before later events are read. */
  async #read<T>(
    type: number,
    kind: WatchKind,
    path: string,
    readPart: (reader: JuteReader) => T,
    callback?: () => void,
  ): Promise<T | undefined> {
    const write = (writer: JuteWriter) => writer.string(path).bool(callback !== undefined);
    const read = (reader: JuteReader, failure: number): T | undefined => {
      if (failure !== 0) return undefined;
      if (callback !== undefined) this.#watches.add(kind, path, callback);
      return readPart(reader);
    };
    for (;;) {
      const part = await this.#request(type, path, write, read, [Failure.NoNode]);
      if (part !== undefined || callback === undefined) return part;
      if (!(await this.#exists(path, callback))) return undefined;
    }
  }

  /** Reports whether a node exists. If it does not, the callback reports its creation. */
  #exists(path: string, callback: () => void): Promise<boolean> {
    return this.#request(
      Op.Exists,
      path,
      (writer) => writer.string(path).bool(true),
      (_reader, failure) => {
        if (failure !== 0) this.#watches.add("exist", path, callback);
        return failure === 0;
      },
      [Failure.NoNode],
    );
  }

  /** Creates or replaces an ephemeral node of the session. One of another session is deleted first. */
  put(path: string, content: string, session: bigint): Promise<void> {
    return repeatUntil(async () => {
      if (await this.#create(path, content, EPHEMERAL)) return true;
      const known = await this.get(path);
      if (known === undefined) return false;
      const isOwn = known.stat.ephemeralOwner === session;
      if (!isOwn) await this.#delete(path, known.stat.version);
      else if (known.content !== content) await this.#set(path, content, known.stat.version);
      return isOwn;
    });
  }

  /** Deletes a node that the session holds. A node of another session, and a missing one, stay as they are. */
  async remove(path: string, session: bigint): Promise<void> {
    const known = await this.get(path);
    if (known === undefined || known.stat.ephemeralOwner !== session) return;
    await this.#delete(path, known.stat.version).catch((reason: unknown) => {
      if (!isChanged(reason)) throw reason;
    });
  }

  /** Changes a persistent node by compare-and-set. */
  change(path: string, change: (content: string | undefined) => string | undefined): Promise<void> {
    return repeatUntil(async () => {
      const known = await this.get(path);
      const content = change(known?.content);
      if (content === undefined) return true;
      if (known === undefined) return await this.#create(path, content, PERSISTENT);
      await this.#set(path, content, known.stat.version);
      return true;
    });
  }

  /** Creates a node and its parents. Returns false if it exists already. */
  async #create(path: string, content: string, flags: number): Promise<boolean> {
    for (;;) {
      const failure = await this.#request(
        Op.Create,
        path,
        (writer) => writeAcl(writer.string(path).string(content), this.#hasAuth).int(flags),
        (_reader, code) => code,
        [Failure.NodeExists, Failure.NoNode],
      );
      if (failure !== Failure.NoNode) return failure === 0;
      const parent = path.slice(0, path.lastIndexOf("/"));
      if (parent === "") throw new ZooKeeperError(Failure.NoNode, path);
      await this.#create(parent, "", PERSISTENT);
    }
  }

  #delete(path: string, version: number): Promise<void> {
    return this.#request(Op.Delete, path, (writer) => writer.string(path).int(version));
  }

  #set(path: string, content: string, version: number): Promise<void> {
    return this.#request(Op.SetData, path, (writer) => writer.string(path).string(content).int(version));
  }
}

/** Repeats an attempt until it returns true. Attempts may fail because others have changed the node meanwhile. */
async function repeatUntil(attempt: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      if (await attempt()) return;
    } catch (reason) {
      if (tries >= MAX_TRIES || !isChanged(reason)) throw reason;
    }
  }
}

const isChanged = (reason: unknown): boolean =>
  reason instanceof ZooKeeperError && (reason.failure === Failure.BadVersion || reason.failure === Failure.NoNode);

function readNode(reader: JuteReader): Node {
  const content = reader.string();
  return { content, stat: readStat(reader) };
}
