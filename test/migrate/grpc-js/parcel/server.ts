import * as grpc from "@grpc/grpc-js";
import * as protoLoader from "@grpc/proto-loader";
import path from "node:path";
import type { ProtoGrpcType } from "../gen/parcel";
import type { Parcel__Output } from "../gen/parcel/v1/Parcel";
import type { ParcelServiceHandlers } from "../gen/parcel/v1/ParcelService";

const OPTIONS: protoLoader.Options = { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true };
const PROTO_PATH = path.resolve("test/migrate/proto/parcel/v1/parcel.proto");
const definition = protoLoader.loadSync(PROTO_PATH, OPTIONS);
const proto = grpc.loadPackageDefinition(definition) as unknown as ProtoGrpcType;
const { ParcelService } = proto.parcel.v1;

function describe(parcel: Parcel__Output): string {
  const { parcel_id, parcel_state } = parcel;
  const content = parcel.content === "plain_text" ? parcel.plain_text : parcel.raw_data?.toString("hex");
  return `${parcel_id} ${parcel_state} ${parcel.stop_ids.join("+")} ${content} ${parcel.inner_parcel === null}`;
}

export const handlers: ParcelServiceHandlers = {
  GetParcel(call, callback) {
    const [user] = call.metadata.get("x-user");
    if (call.request.parcel_id === "404") {
      callback({ code: grpc.status.NOT_FOUND, details: `no parcel for ${user}` });
      return;
    }
    const trailers = new grpc.Metadata();
    trailers.set("x-seen", String(user));
    callback(null, { parcel_id: call.request.parcel_id, parcel_state: "PARCEL_STATE_MOVING", plain_text: "soap" }, trailers);
  },
  WatchParcels(call) {
    for (let i = 0; i < 2; i++) call.write({ parcel_id: i, stop_ids: [i, i + 1], raw_data: Buffer.from([i]) });
    call.end();
  },
  CountParcels: (call, callback) => {
    let total_count = 0;
    call.on("data", (parcel) => {
      console.log(describe(parcel));
      total_count++;
    });
    call.on("end", () => callback(null, { total_count }));
  },
  MoveParcels(call) {
    call.on("data", (parcel) => {
      call.write({ parcel_state: parcel.parcel_state, inner_parcel: { parcel_id: parcel.parcel_id } });
    });
    call.on("end", () => call.end());
  },
};

export function createParcelServer(): grpc.Server {
  const server = new grpc.Server();
  server.addService(ParcelService.service, handlers);
  return server;
}
