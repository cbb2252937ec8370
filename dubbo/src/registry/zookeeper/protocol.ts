/**
 * Messages of ZooKeeper's protocol, as far as a registry needs them.
 *
 *     Request → int32 xid, int32 type, record        (the connect request has neither xid nor type)
 *     Reply   → int32 xid, int64 zxid, int32 err, record
 *
 * Replies arrive in the order of the requests. A reply with the xid -1 is a watch event.
 */
import { JuteReader, JuteWriter } from "./jute.ts";

export const Op = {
  Create: 1,
  Delete: 2,
  Exists: 3,
  GetData: 4,
  SetData: 5,
  Ping: 11,
  GetChildren2: 12,
  Auth: 100,
  SetWatches: 101,
  CloseSession: -11,
} as const;

/** Reserved request numbers. */
export const Xid = { Watch: -1, Ping: -2, Auth: -4, SetWatches: -8 } as const;

/** Error codes of replies. */
export const Failure = {
  NoNode: -101,
  BadVersion: -103,
  NodeExists: -110,
} as const;

const FAILURES: Readonly<Record<number, string>> = {
  [-4]: "the connection was lost",
  [-8]: "an argument is invalid",
  [-100]: "an API error",
  [-101]: "the node does not exist",
  [-102]: "the credentials do not permit it (option auth)",
  [-103]: "the node was changed by another client",
  [-108]: "an ephemeral node cannot have children",
  [-110]: "the node exists already",
  [-111]: "the node has children",
  [-112]: "the session has expired",
  [-114]: "an ACL is invalid: the registry does not accept the scheme of the option auth",
  [-115]: "the credentials were refused (option auth)",
  [-118]: "the session has moved to another server",
  [-119]: "the server is read-only",
};

/** An error that ZooKeeper has returned. */
export class ZooKeeperError extends Error {
  override readonly name = "ZooKeeperError";
  readonly failure: number;

  constructor(failure: number, path: string) {
    super(`${path === "" ? "" : `${path}: `}${FAILURES[failure] ?? `error ${failure}`}`);
    this.failure = failure;
  }
}

/** The state of a session that survives the loss of a connection. */
export interface SessionState {
  readonly id: bigint;
  readonly password: Uint8Array;
  readonly timeoutMs: number;
}

export const NEW_SESSION: SessionState = { id: 0n, password: new Uint8Array(16), timeoutMs: 0 };

export function writeConnect(state: SessionState, lastZxid: bigint, timeoutMs: number): Uint8Array {
  const writer = new JuteWriter().int(0).long(lastZxid).int(timeoutMs).long(state.id).bytes(state.password);
  return writer.bool(false).frame();
}

/** Reads the reply to a connect request. A timeout of 0 means that the session has expired. */
export function readConnect(body: Uint8Array): SessionState {
  const reader = new JuteReader(body);
  reader.int();
  const timeoutMs = reader.int();
  return { timeoutMs, id: reader.long(), password: reader.bytes() };
}

export function startRequest(xid: number, type: number): JuteWriter {
  return new JuteWriter().int(xid).int(type);
}

/** A change of a node that is watched. */
export interface NodeEvent {
  readonly type: number;
  readonly path: string;
}

/** Types of watch events. */
export const Change = { Created: 1, Deleted: 2, Data: 3, Children: 4 } as const;

export function readNodeEvent(reader: JuteReader): NodeEvent {
  const type = reader.int();
  reader.int();
  return { type, path: reader.string() };
}

/** The fields of a node's state that a registry needs. */
export interface Stat {
  readonly version: number;
  /** The session that holds the node; 0 for a persistent one. */
  readonly ephemeralOwner: bigint;
}

// struct { long czxid, mzxid, ctime, mtime; int version, cversion, aversion; long ephemeralOwner; int dataLength,
// numChildren; long pzxid }
export function readStat(reader: JuteReader): Stat {
  for (let field = 0; field < 4; field++) reader.long();
  const version = reader.int();
  reader.int();
  reader.int();
  const ephemeralOwner = reader.long();
  reader.int();
  reader.int();
  reader.long();
  return { version, ephemeralOwner };
}

/** All permissions. */
const ALL = 31;

/** Writes the access control list of a new node: for all clients, or for those with the credentials of this connection. */
export function writeAcl(writer: JuteWriter, isOwned: boolean): JuteWriter {
  writer.int(1).int(ALL);
  return isOwned ? writer.string("auth").string("") : writer.string("world").string("anyone");
}
