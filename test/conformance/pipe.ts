/** The pipe between the conformance runner and a program under test: messages with a length prefix of four bytes. */
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";

/** Yields the messages that the runner writes to standard input, until it closes the pipe. */
export async function* readMessages<Desc extends DescMessage>(type: Desc): AsyncGenerator<MessageShape<Desc>> {
  let buffered = Buffer.alloc(0);
  for await (const chunk of process.stdin) {
    buffered = Buffer.concat([buffered, chunk as Buffer]);
    while (buffered.length >= 4 && buffered.length >= 4 + buffered.readUInt32BE()) {
      const end = 4 + buffered.readUInt32BE();
      yield fromBinary(type, buffered.subarray(4, end));
      buffered = buffered.subarray(end);
    }
  }
}

/** Writes a message to standard output, which must contain nothing else. */
export function writeMessage<Desc extends DescMessage>(type: Desc, message: MessageInitShape<Desc>): void {
  const bytes = toBinary(type, create(type, message));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.byteLength);
  process.stdout.write(Buffer.concat([length, bytes]));
}
