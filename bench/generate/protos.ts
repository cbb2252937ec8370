/** Synthetic proto files, equal on every machine, with all features of real ones. */

/** Numbers of generated files, services, rpcs and messages. */
export interface Size {
  readonly files: number;
  readonly servicesPerFile: number;
  readonly rpcsPerService: number;
  readonly messagesPerFile: number;
}

/** Proto files by path. */
export function synthesize({ files, servicesPerFile, rpcsPerService, messagesPerFile }: Size): Map<string, string> {
  return new Map(
    range(files).map((i) => {
      const imports = i === 0 ? "" : `import "${pathOf(i - 1)}";\n`;
      const body = [
        ...range(servicesPerFile).map((s) => service(i, s, rpcsPerService, messagesPerFile)),
        ...range(messagesPerFile / 2).map((m) => pair(i, m)),
      ];
      return [
        pathOf(i),
        `syntax = "proto3";\npackage ${packageOf(i)};\nimport "google/protobuf/timestamp.proto";\n${imports}\n${body.join("\n")}`,
      ];
    }),
  );
}

function pathOf(i: number): string {
  return `bench/p${i}/v1/service.proto`;
}

function packageOf(i: number): string {
  return `bench.p${i}.v1`;
}

/** Writes rpcs of all four kinds with options and comments; one rpc uses a message of another package. */
function service(file: number, index: number, rpcs: number, messages: number): string {
  const methods = range(rpcs).map((m) => {
    const n = (index * rpcs + m) % (messages / 2);
    const input = file > 0 && m === 1 ? `${packageOf(file - 1)}.Req${n}` : `Req${n}`;
    const [clientStream, serverStream] = [m % 4 > 1 ? "stream " : "", m % 2 > 0 && m !== 1 ? "stream " : ""];
    const option =
      m % 5 === 0
        ? " { option idempotency_level = NO_SIDE_EFFECTS; }"
        : m % 7 === 0
          ? " { option deprecated = true; }"
          : ";";
    return `  // Method ${m} does one thing.\n  //\n  // And tells how.\n  rpc Method${m}(${clientStream}${input}) returns (${serverStream}Res${n})${option}`;
  });
  return `// Service ${index} of file ${file}.\nservice Service${index} {\n${methods.join("\n")}\n}\n`;
}

function pair(file: number, n: number): string {
  const fields = `  // The subject of the comments.
  string name = 1;
  int32 count = 2;
  repeated string tags = 3;
  google.protobuf.Timestamp time = 4;
  map<string, int64> sizes = 5;
  oneof choice {
    string text = 6;
    bytes data = 7;
  }`;
  const nested = n > 0 ? `\n  Req${n - 1} before = 8;` : "";
  return `// Request ${n} of file ${file}.\nmessage Req${n} {\n${fields}${nested}\n}\n\n// Response ${n}.\nmessage Res${n} {\n${fields}\n  Req${n} request = 8;\n}\n`;
}

function range(length: number): number[] {
  return Array.from({ length }, (_, i) => i);
}
