import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
export declare function createValidator(): {
  validate<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): any;
};
