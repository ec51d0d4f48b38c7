/** Yields the pieces of an answer in a stream of chat completion chunks. Throws an Error with the server's message. */
export async function* readDeltas(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = '';
  for await (const text of textsOf(stream)) {
    const lines = `${rest}${text}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield readDelta(line);
  }
  yield readDelta(rest);
}

/** Reads a stream by its reader, because not every browser can iterate over a stream. */
async function* textsOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const [reader, decoder] = [stream.getReader(), new TextDecoder()];
  for (let piece = await reader.read(); !piece.done; piece = await reader.read())
    yield decoder.decode(piece.value, { stream: true });
}

function readDelta(line: string): string {
  const data = /^data: ?(.*)$/.exec(line.trim())?.[1];
  if (data === undefined || data === '[DONE]') return '';
  const { error, choices } = JSON.parse(data) as Chunk;
  if (error) throw new Error(error.message ?? 'The server broke off.');
  return choices?.[0]?.delta?.content ?? '';
}

type Chunk = {
  readonly error?: { readonly message?: string };
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
};
