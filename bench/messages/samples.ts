/** The messages of the codec contests, in protobuf's binary format. */
import { create, toBinary } from "@bufbuild/protobuf";
import { echoProto } from "./echo.ts";
import { BlobsSchema, NumbersSchema, WordsSchema } from "./gen/samples_pb.ts";
import { orderProto } from "./order.ts";

const titles = [
  "tea",
  "paper filters",
  "kettle, 1.2 l",
  "Grüner Tee, lose",
  "first flush, 250 g, from Darjeeling",
  "緑茶",
];

const words = create(WordsSchema, {
  words: Array.from({ length: 60 }, (_, index) => `${titles[index % titles.length]} ${index * index}`),
  note: "Please leave the parcel with the neighbours. ".repeat(7),
  labels: Object.fromEntries(Array.from({ length: 5 }, (_, index) => [`label-${index}`, `value ${index * 11}`])),
});

const numbers = create(NumbersSchema, {
  id: -1,
  time: 1_735_689_600_123n,
  counts: Array.from({ length: 100 }, (_, index) => (index % 5 === 0 ? -index : index * 997)),
  totals: Array.from({ length: 50 }, (_, index) => BigInt(index) * 2_147_483_647n),
  offsets: Array.from({ length: 60 }, (_, index) => index * 33 - 1000),
  ports: Array.from({ length: 60 }, (_, index) => (index * 47) % 300),
  flags: Array.from({ length: 20 }, (_, index) => index % 2 === 0),
  hashes: Array.from({ length: 20 }, (_, index) => BigInt(index) * 999_999_999_999n),
});

const blobs = create(BlobsSchema, {
  parts: [16, 64, 256, 800, 1024, 2048, 3000, 4096].map((length) => new Uint8Array(length).fill(length)),
});

/** The 100 bytes of the unary calls, an order of 1.7 kB, text, integers, and bytes. */
export const samples = {
  echo: echoProto,
  order: orderProto,
  words: toBinary(WordsSchema, words),
  numbers: toBinary(NumbersSchema, numbers),
  blobs: toBinary(BlobsSchema, blobs),
} as const satisfies Record<string, Uint8Array>;

export type Sample = keyof typeof samples;
