/**
 * The guide for coding assistants, `llms.txt`, in the format of llmstxt.org: rules, the files of a project that test/llms.test.ts
 * builds from the guide alone, its commands, and the addresses of all documents.
 */
import { GROUPS } from "./navigation.ts";

const RULES = `- Node 20.19 or newer, ES modules only. Relative imports end in \`.js\`. Nothing in \`src/gen\` is edited.
- \`…_pb.js\` has the types of messages, enums, and schemas such as \`OrderSchema\`. \`…_triple.js\` has, of the service
  \`ShopService\`: \`ShopServiceDef\` and the type \`ShopServiceHandler\` for servers, \`createShopServiceClient\` and the type
  \`ShopServiceClient\` for clients.
- Servers and transports of Node are imported from \`triple-es/node\`, transports of pages from \`triple-es/proto\`, \`addHealth\` from
  \`triple-es/health\`, \`addReflection\` from \`triple-es/reflection\`, and all else, such as the types \`CallOptions\` and
  \`HandlerContext\`, from \`triple-es\`.
- Messages are plain objects. Requests of a call and results of a handler may have some of the fields; a message that has the type
  \`Order\`, to keep it or pass it on, is made by \`create(OrderSchema, { … })\` of \`@bufbuild/protobuf\`. \`int64\` is a \`bigint\`, in JSON a string; \`bytes\` is a
  \`Uint8Array\`; a field with a message may be \`undefined\`; a oneof is \`{ case, value }\`; the enum value \`ORDER_STATUS_PLACED\`
  is \`OrderStatus.PLACED\`; a timestamp is made by \`timestampFromDate\` of \`@bufbuild/protobuf/wkt\`.
- A handler is an object with a function of the request and the context for each rpc. The context is
  \`{ requestHeaders, responseHeaders, responseTrailers, values, signal, draining, peer, timeoutMs }: HandlerContext\`: \`get\` and \`set\`
  of headers, \`peer.address\`, and \`timeoutMs()\`, the rest of the deadline in milliseconds.
- A stream of requests is an \`AsyncIterable\`, a stream of responses an async generator. Both have backpressure: \`yield\` returns when the
  connection can send, and a request is read when the loop asks for it. A caller iterates a response once; leaving the loop cancels
  the call, and nothing is sent before the first message is asked for.
- A handler throws \`new RpcError(Code.NotFound, "…")\`. Other errors reach the caller as \`unknown\` without their text; the option
  \`onError\` of the server gets them, by default it prints them.
- The second argument of a call is \`{ timeoutMs, signal, headers, onHeaders, onTrailers, waitForReady }: CallOptions\`. Calls have no
  timeout by default.
- An interceptor reads \`request.method\` (\`service\`, \`name\`, \`path\`), \`request.headers\` and \`request.context.values\`. Servers, routers and
  transports take \`interceptors\`. \`authorize\` of servers and routers runs before a message is read, also for health.
- Pages have unary calls and server streaming by \`fetch\`; for all kinds use \`createWebSocketTransport\` of \`triple-es/fetch\`, and
  \`createServer({ webSocket: true })\`. JSON over HTTP is POST \`/package.Service/Method\`, a stream of responses is server-sent events.
- Other names are not guessed: [options](docs/options.md) lists those of servers, transports, calls and the context.`;

/** The files of the project, in the folder `site/shop`. */
export const FILES: readonly string[] = [
  "proto/shop/v1/shop.proto",
  "tsconfig.json",
  "src/shop.ts",
  "src/authorize.ts",
  "src/interceptors.ts",
  "src/server.ts",
  "src/client.ts",
  "page/main.ts",
  "test/shop.test.ts",
  "Dockerfile",
];

/** The languages of the files by the ends of their names. */
const LANGUAGES: Readonly<Record<string, string>> = { json: "jsonc", Dockerfile: "dockerfile" };

const COMMANDS = `npx buf generate
npx tsc
npx tsx --test test/*.test.ts
# In the first terminal:
npx tsx src/server.ts
# In the second terminal:
npx tsx src/client.ts
curl -H 'authorization: Bearer secret' -H 'content-type: application/json' -d '{"product":"tea","quantity":20}' localhost:8080/shop.v1.ShopService/PlaceOrder
# {"status":70,"message":"only 8 of tea are left","code":"failed_precondition","details":[{"type":"shop.v1.OutOfStock","value":"CAg","debug":{"left":8}}]}
curl -N -H 'authorization: Bearer secret' -H 'content-type: application/json' -H 'tri-service-timeout: 500' -d '{"product":"tea"}' localhost:8080/shop.v1.ShopService/WatchStock
# data: {"left":8}
#
# event: failure
# data: {"status":31,"message":"the deadline of 500 ms has passed","code":"deadline_exceeded"}
curl localhost:8080/readyz
# serving`;

/** Writes the guide, with links as in the README. `read` gives the text of a file by its path in the repository. */
export function assistantGuide(read: (path: string) => string): string {
  const readme = read("README.md");
  const paragraphs = readme.split("\n\n");
  const [, summary = ""] = paragraphs;
  const create = paragraphs.find((paragraph) => paragraph.startsWith("`npm create ")) ?? "";
  const files = FILES.map((path) => {
    const type = path.slice(path.lastIndexOf(".") + 1);
    const comment = /\.(?:ts|proto|json)$/.test(path) ? "//" : "#";
    return `\`\`\`${LANGUAGES[type] ?? type}\n${comment} ${path}\n${read(`site/shop/${path}`).trim()}\n\`\`\``;
  });
  const list = GROUPS.map(({ title, pages }) => {
    const links = pages.map(([document, name]) => `- [${name}](${document})`);
    return `## ${title}\n\n${links.join("\n")}`;
  });
  return `# triple-es

> ${summary.replaceAll("\n", "\n> ")}

${create}

## Rules

${RULES}

## A project from an empty folder

A shop with a method of each kind, authentication, errors with details, a page, tests, health, a graceful stop and an image:

${blockOf(readme, "npm init -y")}

\`\`\`sh
npm install --save-dev typescript @types/node esbuild
\`\`\`

${blockOf(readme, "# buf.gen.yaml")}

${files.join("\n\n")}

Generate the code, check its types, run the tests, start the server and call it:

\`\`\`sh
${COMMANDS}
\`\`\`

${list.join("\n\n")}
`;
}

/** The fenced block with a text. */
export function blockOf(text: string, content: string): string {
  return text.match(/^```\w.*?^```$/gms)?.find((block) => block.includes(content)) ?? "";
}
