#!/usr/bin/env node
/** The executable that buf and protoc start: a request on stdin, generated files on stdout. */
import { runNodeJs } from "@bufbuild/protoplugin";
import { helpText } from "./options.ts";
import { plugin } from "./plugin.ts";

const [argument] = process.argv.slice(2);
if (argument === "--help" || argument === "-h") {
  process.stdout.write(helpText);
} else {
  runNodeJs(plugin);
}
