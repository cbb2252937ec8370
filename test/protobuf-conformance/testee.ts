/**
 * The testee of protobuf's conformance suite: reads requests from stdin and writes responses to stdout, each after its length
 * in four bytes. Binary is decoded and encoded by generated codecs, and JSON by the reader and writer of servers, or with `protobuf-es`
 * as its argument by protobuf-es, which also refuses invalid JSON.
 *
 *     testee.ts GENERATED_FOLDER [protobuf-es]
 */
import { readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  createRegistry,
  type DescFile,
  type DescMessage,
  fromBinary,
  fromJsonString,
  type Message,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import * as wkt from "@bufbuild/protobuf/wkt";
import type { MessageCodec } from "triple-es/codec";
import { readJson } from "../../runtime/src/codec/json-reader.ts";
import { writeJson } from "../../runtime/src/codec/json-writer.ts";

/** Files with the messages of tests, and the types that `Any` in JSON refers to. */
const FILES = [
  "google/protobuf/test_messages_proto2",
  "google/protobuf/test_messages_proto3",
  "google/protobuf/test_messages_edition2023",
  "google/protobuf/test_messages_proto2_editions",
  "google/protobuf/test_messages_proto3_editions",
];
const WELL_KNOWN = [
  wkt.file_google_protobuf_any,
  wkt.file_google_protobuf_duration,
  wkt.file_google_protobuf_field_mask,
  wkt.file_google_protobuf_struct,
  wkt.file_google_protobuf_timestamp,
  wkt.file_google_protobuf_wrappers,
];
/** Values of enums in conformance.proto. */
const PROTOBUF_FORMAT = 1;
const JSON_FORMAT = 2;
const JSON_IGNORE_UNKNOWN_TEST = 3;

const [folder = "", decoder] = process.argv.slice(2);
const load = async (name: string): Promise<Record<string, unknown>> =>
  (await import(pathToFileURL(join(folder, name)).href)) as Record<string, unknown>;
const isFile = (value: unknown): value is DescFile =>
  typeof value === "object" && value !== null && (value as DescFile).kind === "file";

const conformance = await load("conformance/conformance_pb.ts");
const Request = conformance["ConformanceRequestSchema"] as DescMessage;
const Response = conformance["ConformanceResponseSchema"] as DescMessage;
const modules = await Promise.all(FILES.map((name) => load(`${name}_pb.ts`)));
const registry = createRegistry(...WELL_KNOWN, ...modules.flatMap((one) => Object.values(one).filter(isFile)));
const codecs = Object.assign({}, ...(await Promise.all(FILES.map(codecsOf)))) as Record<string, MessageCodec<object>>;

/** The codecs of a file, by the full names of its messages at the top level. */
async function codecsOf(name: string): Promise<Record<string, unknown>> {
  const { proto } = Object.values(await load(`${name}_pb.ts`)).find(isFile) as DescFile;
  const exported = await load(`${name}_codec.ts`);
  return Object.fromEntries(
    proto.messageType.map((type) => [`${proto.package}.${type.name}`, exported[`${type.name}Codec`]]),
  );
}

interface TestRequest {
  readonly payload: { readonly case: string | undefined; readonly value?: unknown };
  readonly messageType: string;
  readonly requestedOutputFormat: number;
  readonly testCategory: number;
}

type Outcome =
  | readonly ["parseError" | "serializeError" | "skipped" | "jsonPayload", string]
  | readonly ["protobufPayload", Uint8Array];

function answer(request: TestRequest): Outcome {
  const type = registry.getMessage(request.messageType);
  const codec = decoder === "protobuf-es" ? undefined : codecs[request.messageType];
  if (type === undefined || (decoder !== "protobuf-es" && codec === undefined)) {
    return ["skipped", `there is no message ${request.messageType}`];
  }
  const { payload, requestedOutputFormat: format } = request;
  let message: Message;
  try {
    if (payload.case === "protobufPayload") {
      const bytes = payload.value as Uint8Array;
      message = (codec?.decode(bytes) ?? fromBinary(type, bytes)) as Message;
    } else if (payload.case === "jsonPayload") {
      const ignoreUnknownFields = request.testCategory === JSON_IGNORE_UNKNOWN_TEST;
      message = fromJsonString(type, payload.value as string, { registry, ignoreUnknownFields });
      const read =
        codec && message.$unknown === undefined ? readJson(type, JSON.parse(payload.value as string)) : undefined;
      if (read !== undefined) message = read as Message;
    } else return ["skipped", `${payload.case} is not supported`];
  } catch (error) {
    return ["parseError", String(error)];
  }
  try {
    if (format === PROTOBUF_FORMAT) return ["protobufPayload", codec?.encode(message) ?? toBinary(type, message)];
    if (format === JSON_FORMAT) {
      // JSON codecs with a registry, which extensions need, do not use it.
      const written = codec && message.$unknown === undefined ? writeJson(type, message) : undefined;
      return ["jsonPayload", written ? new TextDecoder().decode(written) : toJsonString(type, message, { registry })];
    }
    return ["skipped", `output format ${format} is not supported`];
  } catch (error) {
    return ["serializeError", String(error)];
  }
}

/** Returns the next bytes from the runner; `undefined` after it has closed the pipe. */
function read(length: number): Uint8Array | undefined {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; ) {
    const count = readSync(0, bytes, at, length - at, null);
    if (count === 0) return undefined;
    at += count;
  }
  return bytes;
}

function write(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
}

for (let prefix = read(4); prefix !== undefined; prefix = read(4)) {
  const request = read(new DataView(prefix.buffer).getUint32(0, true));
  if (request === undefined) break;
  const [name, value] = answer(fromBinary(Request, request) as unknown as TestRequest);
  const response = reflect(Response);
  const field = Response.fields.find(({ localName }) => localName === name);
  if (field === undefined) throw new Error(`a response has no ${name}`);
  response.set(field, value as never);
  const bytes = toBinary(Response, response.message);
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, bytes.length, true);
  write(length);
  write(bytes);
}
