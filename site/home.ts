/** The first page of the site. Its first paragraph, its code and its table are those of the README. */
import { blockOf } from "./llms.ts";

/** Writes the page as Markdown, with links as in the README. */
export function homeOf(readme: string): string {
  const [start = ""] = /^`npm create[\s\S]*?\n\n/m.exec(readme) ?? [];
  const table = /^\|.*calls triple-es[\s\S]*?\n\n/m.exec(readme)?.[0].trim() ?? "";
  return `---
layout: home
hero:
  name: triple-es
  text: Typed RPC for TypeScript on one port
  tagline: One handler replaces a gRPC server, a JSON gateway and a proxy for browsers.
  actions:
    - { theme: brand, text: Playground, link: /playground/index.html, target: _self }
    - { theme: alt, text: Introduction, link: /introduction }
    - { theme: alt, text: Guide, link: /guide }
    - { theme: alt, text: Benchmarks, link: /bench }
---

${start}![Four kinds of client call one port](docs/one-port.svg)

${blockOf(readme, "// src/server.ts")}

\`\`\`sh
curl -H 'content-type: application/json' -d '{"name":"curl"}' \\
  localhost:8080/hello.v1.HelloService/SayHello
\`\`\`

## Who can call whom

${table}

- [One port](docs/http-rpc.md): HTTP/1.1 and HTTP/2, gRPC, gRPC-Web, JSON and [REST](docs/rest.md), without a proxy.
- [Contracts in TypeScript](docs/contracts.md) and [Java interfaces](docs/interface.md) need no proto file.
- [Pages](docs/browsers.md) make unary calls and read streams, with 6 kB of code for JSON.
- [Many servers](docs/discovery.md): resolvers, load balancing, retries, hedging, and the registries of Dubbo.
- [Every limit is finite](SECURITY.md), and the security page lists the attacks and their tests.

## Each kind of call, with its bytes

![Output of npm run demo](docs/demo.svg)

## What a call costs

The CPU time of a server, with 128 calls at a time. \`npm run bench -- --quick --only b-server-4x32\` repeats it; there are
[more plots, with their conditions](bench/README.md).

![CPU time of a call](bench/plots/b-server-4x32.svg)

## A page to try methods

The [option \`console\`](docs/openapi.md) serves it, from the OpenAPI document of all services.

![The page of the option console](docs/openapi-console.png)
`;
}
