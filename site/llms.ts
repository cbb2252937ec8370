/**
 * The guide for coding assistants, `llms.txt`, in the format of llmstxt.org: a project from an empty folder and an implementation
 * of each kind of call, taken from the README and the demo, which the tests run, and the addresses of all documents.
 */
import { GROUPS } from "./navigation.ts";

const RULES = `- Messages are plain objects: return \`{ greeting }\`, and do not call constructors. Generated code is not edited.
- The service \`HelloService\` has \`HelloServiceDef\` for servers and \`createHelloServiceClient\` for clients, in \`…_triple.js\`.
- Import servers and transports of Node from \`triple-es/node\`, transports of pages from \`triple-es/proto\`, and \`RpcError\`,
  \`Code\`, \`createRouter\` and \`createInMemoryTransport\` from \`triple-es\`.
- A handler is an object with a function for each rpc. A stream is an async generator or an \`AsyncIterable\`.
- A handler throws \`new RpcError(Code.NotFound, "…")\`; other errors reach the caller as \`unknown\`, without their text.
- A client stops a call with \`{ signal }\` or \`{ timeoutMs }\` as the second argument; a loop over a stream, by leaving it.
- Tests use the in-memory transport below, and no port.`;

/** Writes the guide from the texts of the README and of the demo's files. `linkTo` gives the address of a document as text. */
export function assistantGuide(
  readme: string,
  demo: { readonly proto: string; readonly service: string },
  linkTo: (document: string) => string,
): string {
  const [summary = ""] = readme.split("\n\n").slice(1);
  const list = GROUPS.map(({ title, pages }) => {
    const links = pages.map(([document, name]) => `- [${name}](${linkTo(document)})`);
    return `## ${title}\n\n${links.join("\n")}`;
  });
  return `# triple-es

> ${summary.replaceAll("\n", "\n> ")}

## Rules

${RULES}

## A project from an empty folder

${sectionOf(readme, "Install")}

${sectionOf(readme, "Quick start").split("\nIn a clone")[0]?.trim()}

## A test

${blockOf(readme, "// src/hello.check.ts")}

## All kinds of call

\`\`\`proto
${demo.proto.trim()}
\`\`\`

\`\`\`ts
${demo.service.trim()}
\`\`\`

${list.join("\n\n")}
`;
}

/** The text of a section of a document, without its heading. */
export function sectionOf(text: string, title: string): string {
  return text.split(`\n## ${title}\n`)[1]?.split("\n## ")[0]?.trim() ?? "";
}

/** The fenced block with a text. */
export function blockOf(text: string, content: string): string {
  return text.match(/^```\w.*?^```$/gms)?.find((block) => block.includes(content)) ?? "";
}
