/**
 * Yields the pieces of an answer in a stream of chat completion chunks. A tool call is a line with its name and
 * arguments. Throws an Error with the server's message.
 */
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
  const { content, tool_calls: calls = [] } = choices?.[0]?.delta ?? {};
  return (content ?? '') + calls.map(describeCall).join('');
}

/** The first piece of a call has its name, and later pieces have more of its arguments. */
const describeCall = ({ function: called }: CallPiece): string =>
  `${called?.name === undefined ? '' : `\ncalls ${called.name} `}${called?.arguments ?? ''}`;

type CallPiece = { readonly function?: { readonly name?: string; readonly arguments?: string } };

type Chunk = {
  readonly error?: { readonly message?: string };
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null; readonly tool_calls?: readonly CallPiece[] };
  }[];
};
