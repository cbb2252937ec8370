/** The rules of a sample of Google's APIs. `npm run corpus` reads all of them. */
import { expect, it } from "vitest";
import { compileCorpus } from "../corpus/descriptors.ts";
import { routeCorpus } from "../corpus/routes.ts";

/** Custom verbs, bodies, many variables, long-running operations, and rules outside of the grammar. */
const sample = [
  "google/bigtable/admin/v2/bigtable_table_admin.proto",
  "google/cloud/bigquery/storage/v1/storage.proto",
  "google/cloud/dialogflow/cx/v3/session.proto",
  "google/cloud/kms/v1/service.proto",
  "google/firestore/v1/firestore.proto",
  "google/iam/v1/iam_policy.proto",
  "google/longrunning/operations.proto",
  "google/pubsub/v1/pubsub.proto",
  "google/spanner/v1/spanner.proto",
  "grafeas/v1/grafeas.proto",
];

it("routes requests of Google's APIs, and lists rules that are invalid or have the route of another one", () => {
  const { routes, invalid, conflicts, lost } = routeCorpus(compileCorpus(sample));
  expect(routes).toBeGreaterThan(200);
  expect(lost).toEqual([]);
  const inner = (method: string): unknown =>
    expect.stringMatching(
      `^the rule google.api.http of ${method}: .* has segments after \\*\\*, which must be the last one$`,
    );
  expect(invalid).toEqual([
    inner("/google.firestore.v1.Firestore/CreateDocument"),
    inner("/google.firestore.v1.Firestore/ListDocuments"),
  ]);
  const [read, write] = [
    "/google.cloud.bigquery.storage.v1.BigQueryRead",
    "/google.cloud.bigquery.storage.v1.BigQueryWrite",
  ];
  expect(conflicts).toEqual([
    `${read}/CreateReadSession ${write}/CreateWriteStream`,
    `${read}/ReadRows ${read}/SplitReadStream`,
    `${write}/AppendRows ${write}/FinalizeWriteStream`,
    `${write}/AppendRows ${write}/FlushRows`,
    `${write}/AppendRows ${write}/GetWriteStream`,
  ]);
});
