/** The types and schemas of messages in generated code, independent of the file that declares them. */
import type { DescFile, DescMessage } from "@bufbuild/protobuf";
import type { Declaration } from "../print/declaration.ts";
import type { ImportedModule, Imports } from "../print/imports.ts";
import type { SourceText } from "./comments.ts";
import type { TripleOptions } from "./options.ts";
import type { PbNames } from "./pb-names.ts";

/** A message that a service takes or returns, as it appears in generated code. */
export interface MessageOutline {
  /** The type of a received message. */
  readonly shape: () => string;
  /** The type of a value that can be passed as the message. */
  readonly init: () => string;
  /** The expression for its schema. Absent for plain JSON. */
  readonly schema?: () => string;
  /** The expression for its codec. Absent if no codec is generated. */
  readonly codec?: () => string;
}

/** Declares and imports the messages of a file. Called after all exported names of the file are settled. */
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
  /** Returns the comments and positions of any file. */
  readonly textOf: (file: DescFile) => SourceText;
}
