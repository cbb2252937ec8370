import { credentials, loadPackageDefinition, Metadata } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import type { ProtoGrpcType } from "../gen/parcel";
import type { Parcel__Output } from "../gen/parcel/v1/Parcel";

const packages = loadPackageDefinition(
  loadSync("test/migrate/proto/parcel/v1/parcel.proto", {
    keepCase: true,
    longs: String,
    enums: String,
    defaults: true,
    oneofs: true,
  }),
) as unknown as ProtoGrpcType;

export async function move(address: string): Promise<void> {
  const client = new packages.parcel.v1.ParcelService(address, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set("x-user", "joe");
  const get = (parcel_id: string) =>
    new Promise<void>((resolve) => {
      client.GetParcel({ parcel_id }, metadata, (error, parcel) => {
        if (error) {
          console.log(error.code, error.details);
        } else {
          console.log(parcel?.parcel_id, parcel?.parcel_state, parcel?.content, parcel?.plain_text);
        }
        resolve();
      });
    });
  await get("9007199254740993");
  await get("404");

  await new Promise<void>((resolve, reject) => {
    const stream = client.watchParcels({ parcel_id: 1 });
    stream.on("data", (parcel: Parcel__Output) => {
      console.log(parcel.parcel_id, parcel.stop_ids, parcel.raw_data?.length);
    });
    stream.on("end", () => resolve());
    stream.on("error", (error) => reject(error));
  });

  await new Promise<void>((resolve) => {
    const call = client.countParcels((error, response) => {
      console.log(error === null ? response?.total_count : error.message);
      resolve();
    });
    call.write({ parcel_id: "5", plain_text: "tea" });
    call.write({ parcel_id: 6, stop_ids: ["7"], inner_parcel: {} });
    call.end();
  });

  await new Promise<void>((resolve) => {
    const call = client.moveParcels();
    call.on("data", (parcel: Parcel__Output) => console.log(parcel.inner_parcel?.parcel_id, parcel.parcel_state));
    call.on("end", () => resolve());
    call.write({ parcel_id: 8, parcel_state: 1 });
    call.end();
  });
  client.close();
}
