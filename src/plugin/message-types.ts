/** The types and schemas of messages as generated code writes them, whichever file declares them. */
import type { DescFile, DescMessage } from "@bufbuild/protobuf";
import type { Declaration } from "../print/declaration.ts";
import type { ImportedModule, Imports } from "../print/imports.ts";
import type { SourceText } from "./comments.ts";
import type { TripleOptions } from "./options.ts";
import type { PbNames } from "./pb-names.ts";

/** A message that a service takes or returns, as generated code writes it. */
export interface MessageOutline {
  /** The type of a message as it is received. */
  readonly shape: () => string;
  /** The type of what may be passed as the message. */
  readonly init: () => string;
  /** The expression for its schema. Absent where messages are plain JSON. */
  readonly schema?: () => string;
  /** The expression for its codec. Absent where none is generated. */
  readonly codec?: () => string;
}

/** The messages of a file, once their exported names are settled: asks for what has to be imported. */
export type Messages = (
  imports: Imports,
  runtime: ImportedModule,
) => {
  readonly declarations: readonly Declaration[];
  of(message: DescMessage): MessageOutline;
};

/** The inputs of an outline. */
export interface Tools {
  readonly options: TripleOptions;
  readonly pb: PbNames;
  /** The text of any file, for comments. */
  readonly textOf: (file: DescFile) => SourceText;
}
