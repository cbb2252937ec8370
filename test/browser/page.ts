/** What the test's page runs: the calls that every platform can make, by name. */
import { calls } from "../platforms/calls.ts";

Object.assign(globalThis, { calls });
