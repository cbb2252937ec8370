import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react()],
  // The development server passes calls on to the shop's server.
  server: { proxy: { "/shop.v1.ShopService": "http://localhost:8080" } },
});
