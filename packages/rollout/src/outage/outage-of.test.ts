import { EngineError, JudgeError, Outage } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { watchDebugModel } from './debug-model-errors.js';
import { outageOf } from './outage-of.js';

const withCode = (code: string, more: object = {}): Error =>
  Object.assign(new Error(`it failed: ${code}`), { code, ...more });
const withStatus = (status: number): Error => Object.assign(new Error(`${status} from the provider`), { status });

/** Returns the error of a watched debug model's call, as the agent catches it. */
async function thrownByDebugModel(error: unknown): Promise<unknown> {
  const model = { generate: () => Promise.reject(error as Error) };
  watchDebugModel(model, 'writer', ['generate']);
  return model.generate().catch((thrown: unknown) => thrown);
}

describe('an outage', () => {
  it.each([
    'ECONNREFUSED',
    'ECONNRESET',
    'ENOTFOUND',
    'UND_ERR_SOCKET',
    'CERT_HAS_EXPIRED',
    'ERR_TLS_CERT_ALTNAME_INVALID',
  ])('is a connection that failed with %s, however deep a framework has wrapped it', (code) => {
    const failed = new TypeError('fetch failed', { cause: withCode(code, { hostname: 'tools.example' }) });
    const wrapped = Object.assign(new Error('Failed after 3 attempts'), {
      lastError: new Error('x', { cause: failed }),
    });
    expect(outageOf(wrapped)).toEqual({
      source: 'connection',
      host: 'tools.example',
      message: `it failed: ${code}`,
    });
  });

  it.each([429, 401, 402, 500, 503])('is an answer %i of a debug model', async (status) => {
    const thrown = new Error('the graph failed', { cause: await thrownByDebugModel(withStatus(status)) });
    expect(outageOf(thrown)).toMatchObject({ source: 'debug_model', host: 'debug model of writer' });
  });

  it('is a failure of our own engine', () => {
    expect(outageOf(new EngineError('failed', 'the worker died'))).toMatchObject({ source: 'engine' });
  });

  it('is an error that a workflow or a judge declares to be one', () => {
    const outage = new Outage('the sandbox has no machine left', { host: 'sandbox.example' });
    expect(outageOf(new Error('x', { cause: outage }))).toMatchObject({ source: 'workflow', host: 'sandbox.example' });
    expect(outageOf(new JudgeError('judge_failed', 'x', { cause: outage }))).toMatchObject({ source: 'judge' });
    expect(outageOf(new JudgeError('judge_failed', 'x', { cause: withStatus(503) }))).toMatchObject({
      source: 'judge',
    });
  });
});

describe('not an outage', () => {
  it('is an error of a tool, an HTTP status, or a file that is missing', () => {
    expect(outageOf(new TypeError('cannot add apples'))).toBeUndefined();
    expect(outageOf(withStatus(503))).toBeUndefined();
    expect(outageOf(withCode('ENOENT'))).toBeUndefined();
    expect(outageOf('just a string')).toBeUndefined();
  });

  it.each([400, 413, 422])('is an answer %i of a debug model: the agent asked for something wrong', async (status) => {
    expect(outageOf(await thrownByDebugModel(withStatus(status)))).toBeUndefined();
  });

  it('is a call that was aborted, a context that overflowed, or a judge with a mistake in it', async () => {
    expect(outageOf(new EngineError('context_overflow', 'too long'))).toBeUndefined();
    expect(
      outageOf(await thrownByDebugModel(Object.assign(new Error('aborted'), { name: 'AbortError' }))),
    ).toBeUndefined();
    expect(outageOf(new JudgeError('judge_failed', 'x', { cause: new TypeError('x is undefined') }))).toBeUndefined();
  });

  it('is an error that wraps itself', () => {
    const error: Error & { cause?: unknown } = new Error('round');
    error.cause = error;
    expect(outageOf(error)).toBeUndefined();
  });
});

describe('a watched debug model', () => {
  it('is the same object and behaves as before, streams included', async () => {
    async function* stream(fail: boolean): AsyncGenerator<number> {
      yield 1;
      if (fail) throw withStatus(529);
      yield 2;
    }
    const model = { calls: { create: (n: number) => n + 1 }, stream };
    watchDebugModel(model, 'writer', ['calls.create', 'stream', 'missing', 'also.missing']);
    watchDebugModel(model, 'writer', ['calls.create']);
    expect(model.calls.create(1)).toBe(2);
    const seen: number[] = [];
    for await (const part of model.stream(false)) seen.push(part);
    expect(seen).toEqual([1, 2]);
    const failed = (async () => {
      for await (const part of model.stream(true)) seen.push(part);
    })();
    expect(outageOf(await failed.catch((error: unknown) => error))).toMatchObject({ source: 'debug_model' });
  });

  it('leaves the body of an OpenAI answer unread', async () => {
    let reads = 0;
    const answer = { asResponse: () => Promise.resolve('headers') };
    Reflect.set(answer, 'then', (resolve: (value: string) => void) => (reads++, resolve('body')));
    const client = { create: () => answer };
    watchDebugModel(client, 'writer', ['create']);
    expect(await client.create().asResponse()).toBe('headers');
    expect(reads).toBe(0);
  });
});
