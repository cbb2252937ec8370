npm init -y
npm pkg set type=module
npm install @trpc/client @trpc/server zod
npm install --save-dev @types/node esbuild tsx typescript
# the files
npx tsc
npx esbuild page/main.ts --bundle --minify --format=esm --outfile=page/main.js
npx tsx src/server.ts &
npx tsx src/client.ts
npx tsx --test test/hello.test.ts
