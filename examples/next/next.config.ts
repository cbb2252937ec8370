import { join } from "node:path";
import type { NextConfig } from "next";

const config: NextConfig = {
  // The packages and the generated code of this example are in the repository around it. A project of its own needs no root.
  turbopack: { root: join(import.meta.dirname, "../..") },
};

export default config;
