import { execSync } from "node:child_process";

execSync("npm run page", { stdio: "inherit" });
await import("./server.js");
