import { attackServer } from "./server.ts";

attackServer();
