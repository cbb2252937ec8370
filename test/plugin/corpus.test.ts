/** A fixed sample of the corpus. `npm run corpus` uses all of it. */
import { create } from "@bufbuild/protobuf";
import { CodeGeneratorRequestSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compileCorpus, importsOf } from "../corpus/descriptors.ts";
import { writeMessages } from "../corpus/messages.ts";
import { ROUND_TRIP_PARAMETER, roundTrip } from "../corpus/round-trip.ts";
import { Project } from "./support/project.ts";
import { run } from "./support/protos.ts";

/** Old and new syntax, many rpcs and few, streams, long-running operations, empty and imported messages. */
const sample = [
  "google/api/servicecontrol/v1/service_controller.proto",
  "google/bigtable/v2/bigtable.proto",
  "google/cloud/dialogflow/cx/v3/session.proto",
  "google/cloud/kms/v1/service.proto",
  "google/cloud/speech/v2/cloud_speech.proto",
  "google/firestore/v1/firestore.proto",
  "google/iam/v1/iam_policy.proto",
  "google/longrunning/operations.proto",
  "google/pubsub/v1/pubsub.proto",
  "google/spanner/v1/spanner.proto",
  "google/storage/v2/storage.proto",
  "grafeas/v1/grafeas.proto",
];

describe("services of google-proto-files", () => {
  const set = compileCorpus(sample);
  const files = set.file.filter(({ name }) => sample.includes(name));
  const project = new Project();
  afterAll(() => project[Symbol.dispose]());

  beforeAll(() => writeMessages(set, files, project.folder));

  it.each([
    "codecs=false",
    "codecs=false,init_types=expanded",
    "messages=json",
    "codecs=false,server_base=true,fakes=true,java_names=true",
  ])("type-check with %s", (options) => {
    expect(files.map(({ name }) => name).sort()).toEqual(sample);
    const protoFile = importsOf(set, sample);
    const parameter = `target=ts,import_extension=js,${options}`;
    project.generate(create(CodeGeneratorRequestSchema, { parameter, protoFile, fileToGenerate: sample }));
    expect(project.diagnostics()).toEqual([]);
  });

  it("have codecs that type-check, and that encode and decode as protobuf-es does", () => {
    const protoFile = importsOf(set, sample);
    const fileToGenerate = protoFile.map(({ name }) => name).filter((name) => !name.startsWith("google/protobuf/"));
    const generate = (parameter: string) =>
      create(CodeGeneratorRequestSchema, { parameter, protoFile, fileToGenerate });
    project.generate(generate("target=ts,import_extension=js"));
    expect(project.diagnostics()).toEqual([]);

    const generated = [...run(generate(ROUND_TRIP_PARAMETER))].map(([name, content]) => ({ name, content }));
    const { messages, failures } = roundTrip(create(FileDescriptorSetSchema, { file: protoFile }), generated);
    expect(failures).toEqual([]);
    expect(messages).toBeGreaterThan(500);
  });
});
