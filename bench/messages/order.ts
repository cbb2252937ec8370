/** The message of medium size: an order with nested messages, lists and maps. */
import { create, toBinary } from "@bufbuild/protobuf";
import { envelope } from "./echo.ts";
import { OrderSchema } from "./gen/echo_pb.ts";

const titles = ["Tea, first flush, 250 g", "Paper filters, 100 pieces", "Kettle, 1.2 l", "Grüner Tee, lose, 500 g"];

export const order = create(OrderSchema, {
  id: "7c9e6679-7425-40de-944b-e07fc1f90ae7",
  customer: {
    name: "Ada Lovelace",
    email: "ada.lovelace@analytical.example",
    address: { street: "12 St James's Square", city: "London", country: "United Kingdom", zip: 10115 },
    tags: ["newsletter", "returning", "invoice"],
  },
  lines: Array.from({ length: 12 }, (_, index) => ({
    sku: `SKU-${1000 + 37 * index}-${"ABC"[index % 3]}`,
    title: titles[index % titles.length] as string,
    quantity: 1 + ((index * 7) % 200),
    price: 4.95 + index * 1.5,
    // proto-loader sets absent fields to false, the others omit them.
    gift: true,
    discounts: index % 2 === 0 ? [0.05, 0.1] : [],
  })),
  labels: Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => [`label-${index}`, `value of the label ${index * 11}`]),
  ),
  stock: Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => [`warehouse-${index}`, BigInt(index) * 12_345_678_901n]),
  ),
  slots: Array.from({ length: 40 }, (_, index) => index * 13),
  paid: true,
  createdAt: 1_735_689_600_123n,
  delivery: { case: "pickupPoint", value: "Locker 17, King's Cross station, platform 9" },
});

/** The order in protobuf's binary format. */
export const orderProto = toBinary(OrderSchema, order);

export const orderEnvelope = envelope(orderProto);

export const orderPath = "/bench.v1.EchoService/EchoOrder";
