/** Reads a stream of lines of JSON, whose type the client does not know. */
export async function* readLines<T>(response: { body: ReadableStream<Uint8Array> | null }): AsyncGenerator<T> {
  const reader = response.body?.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  let text = "";
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done) return;
    const lines = (text + value).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as T;
  }
}
