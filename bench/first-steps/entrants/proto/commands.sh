npm create triple-es@latest . -- --contract proto --page --registry none
npm install
# the files
npm run generate
npm run types
npm run dev &
npm run client Ada
npm test
