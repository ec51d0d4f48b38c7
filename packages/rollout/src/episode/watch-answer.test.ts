import { describe, expect, it } from 'vitest';
import { watchAnswer, type CallOutcome } from './watch-answer.js';
import { collectAll } from '../testing/collect-all.js';

async function* piecesOf(...pieces: readonly unknown[]): AsyncGenerator<unknown> {
  for (const piece of pieces) {
    if (piece instanceof Error) throw piece;
    yield piece;
  }
}

function watch(answer: unknown) {
  const outcomes: CallOutcome[] = [];
  const given = watchAnswer(answer, {
    end: (outcome) => void (outcomes.length === 0 && outcomes.push(outcome)),
    inside: (work) => work(),
  });
  return { given, outcomes };
}

const drain = (source: unknown): Promise<readonly unknown[]> => collectAll(source as AsyncIterable<unknown>);

const said = (content: string): CallOutcome => ({ answer: { role: 'assistant', content } });

describe('a streamed answer', () => {
  it.each<readonly [string, readonly unknown[], string]>([
    [
      'OpenAI',
      [
        { choices: [{ delta: { role: 'assistant', content: '' } }] },
        { choices: [{ delta: { content: 'He' } }] },
        { choices: [{ delta: { content: 'llo' } }] },
        { choices: [{ delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{"a"' } }] } }] },
        { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] } }] },
        { choices: [], usage: {} },
      ],
      'Hello\nf({"a":1})',
    ],
    [
      'LangChain',
      [
        { text: 'He', message: { content: 'He' } },
        { text: 'llo', message: { content: [{ type: 'text', text: 'llo' }] } },
        { message: { content: '', tool_call_chunks: [{ index: 0, name: 'f', args: '{}' }] } },
      ],
      'Hello\nf({})',
    ],
    [
      'the AI SDK',
      [
        { type: 'text-start', id: '0' },
        { type: 'text-delta', id: '0', delta: 'Hello' },
        { type: 'tool-call', toolCallId: 'c', toolName: 'f', input: '{}' },
        { type: 'finish' },
      ],
      'Hello\nf({})',
    ],
    [
      'Responses',
      [
        { type: 'response.output_text.delta', delta: 'Hel' },
        { type: 'response.output_text.delta', delta: 'lo' },
      ],
      'Hello',
    ],
    [
      'OpenAI Agents',
      [
        { type: 'output_text_delta', delta: 'Hel' },
        { type: 'response_done', response: { output: [{ content: [{ type: 'output_text', text: 'Hello' }] }] } },
      ],
      'Hello',
    ],
  ])('of %s is put together from its pieces, which reach the caller as they are', async (_name, pieces, text) => {
    const { given, outcomes } = watch(piecesOf(...pieces));
    expect(outcomes).toEqual([]);
    expect(await drain(given)).toEqual(pieces);
    expect(outcomes).toEqual([said(text)]);
  });

  it('may come in a promise, as a stream among other fields, or as an object that is iterated', async () => {
    const pieces = [{ type: 'text-delta', delta: 'Hello' }];
    const inPromise = watch(Promise.resolve({ stream: ReadableStream.from(pieces), request: 1 }));
    const { stream, request } = (await inPromise.given) as { stream: ReadableStream; request: number };
    expect([await drain(stream), request]).toEqual([pieces, 1]);
    expect(inPromise.outcomes).toEqual([said('Hello')]);
    const client = { iterator: () => piecesOf(...pieces), [Symbol.asyncIterator]: () => client.iterator(), own: 1 };
    const iterated = watch(Promise.resolve(client));
    expect(await iterated.given).toBe(client);
    expect(await drain(client)).toEqual(pieces);
    expect(iterated.outcomes).toEqual([said('Hello')]);
  });

  it('that fails or is left early keeps the part that was read', async () => {
    const failing = watch(piecesOf({ choices: [{ delta: { content: 'He' } }] }, new Error('cut off')));
    await expect(drain(failing.given)).rejects.toThrow('cut off');
    expect(failing.outcomes).toEqual([{ error: new Error('cut off') }]);
    let isReturned = false;
    async function* endless(): AsyncGenerator<unknown> {
      try {
        for (;;) yield { choices: [{ delta: { content: 'a' } }] };
      } finally {
        isReturned = true;
      }
    }
    const left = watch(endless());
    for await (const _piece of left.given as AsyncIterable<unknown>) break;
    expect(left.outcomes).toEqual([said('a')]);
    expect(isReturned).toBe(true);
    const stream = watch(Promise.resolve({ stream: ReadableStream.from(endless()) }));
    await ((await stream.given) as { stream: ReadableStream }).stream.cancel();
    expect(stream.outcomes).toEqual([{ answer: null }]);
  });
});

describe('the promise of a client that reads the body when it is awaited', () => {
  class Fetching extends Promise<unknown> {
    numReads = 0;
    readonly fetched: Promise<unknown>;
    parseResponse = async (): Promise<unknown> => (this.numReads++, { choices: [{ message: { content: 'hi' } }] });
    constructor(fetched: Promise<unknown>) {
      super((resolve) => resolve(null));
      this.fetched = fetched;
      const then: Promise<unknown>['then'] = (onDone, onError) =>
        this.fetched.then(() => this.parseResponse()).then(onDone, onError);
      Reflect.set(this, 'then', then);
    }
    static override get [Symbol.species]() {
      return Promise;
    }
    asResponse = (): Promise<unknown> => this.fetched;
  }

  it('is read once, when the caller does', async () => {
    const answer = new Fetching(Promise.resolve());
    const { given, outcomes } = watch(answer);
    expect(given).toBe(answer);
    await answer.asResponse();
    expect([answer.numReads, outcomes]).toEqual([0, []]);
    await answer;
    expect([answer.numReads, outcomes]).toEqual([1, [said('hi')]]);
  });

  it('reports the error of a request that failed', async () => {
    const { given, outcomes } = watch(new Fetching(Promise.reject(new Error('429'))));
    await expect(given).rejects.toThrow('429');
    expect(outcomes).toEqual([{ error: new Error('429') }]);
  });
});
