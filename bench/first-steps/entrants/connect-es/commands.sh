npm init -y
npm pkg set type=module
npm install @bufbuild/protobuf @connectrpc/connect @connectrpc/connect-node @connectrpc/connect-web
npm install --save-dev @bufbuild/buf @bufbuild/protoc-gen-es @types/node esbuild tsx typescript
# the files
npx buf generate
npx tsc
npx esbuild page/main.ts --bundle --minify --format=esm --outfile=page/main.js
npx tsx src/server.ts &
npx tsx src/client.ts
npx tsx --test test/hello.test.ts
