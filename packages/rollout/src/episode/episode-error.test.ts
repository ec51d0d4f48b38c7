import { EngineError, WorkflowError } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { createScriptedEngine } from '../testing.js';
import { toEpisodeError } from './episode-error.js';
import { openEpisode } from './open-episode.js';

const withStack = (error: Error, ...frames: readonly string[]): Error =>
  Object.assign(error, { stack: [String(error), ...frames.map((frame) => `    at ${frame}`)].join('\n') });

const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 100 };

/** The error that an SDK throws if the other side closes the connection. */
function connectionError(): Error {
  const socket = Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' });
  const fetchFailed = new TypeError('fetch failed', { cause: socket });
  return withStack(
    new Error('Connection error.', { cause: fetchFailed }),
    ...Array.from({ length: 9 }, (_none, at) => `step${at} (/home/me/node_modules/openai/src/client.ts:${at + 1}:1)`),
    'Agent.ask (/home/me/agent.ts:12:3)',
  );
}

describe('the message of a failed episode', () => {
  it('has the whole chain of causes, with their codes', () => {
    expect(toEpisodeError(connectionError()).message).toBe(
      'The workflow threw Error: Connection error. Caused by TypeError: fetch failed Caused by Error: other side closed (UND_ERR_SOCKET)',
    );
  });

  it('repeats no message, and ends if the causes form a circle', () => {
    const own = new EngineError('failed', 'The engine failed: out of memory', { cause: new Error('out of memory') });
    expect(toEpisodeError(own).message).toBe('The engine failed: out of memory');
    const circle = new Error('round');
    circle.cause = circle;
    expect(toEpisodeError(new Error('and', { cause: circle })).message).toBe(
      'The workflow threw Error: and Caused by Error: round',
    );
  });
});

describe('the place of a failure', () => {
  it('is the first line of the user, however deep below a framework', () => {
    expect(toEpisodeError(connectionError()).place).toBe('at Agent.ask (/home/me/agent.ts:12:3)');
  });

  it('may be that of a cause', () => {
    const cause = withStack(new Error('inner'), 'tool (/home/me/tools.ts:3:1)');
    const outer = withStack(new Error('outer', { cause }), 'run (/home/me/node_modules/graph/run.js:1:1)');
    expect(toEpisodeError(outer).place).toBe('at tool (/home/me/tools.ts:3:1)');
  });

  it('is left out if no line is the user’s', () => {
    expect(toEpisodeError(withStack(new WorkflowError('timeout', 'late'))).place).toBeUndefined();
  });
});

describe('the agent of a failure', () => {
  it('is the one whose call failed, also if only its message came through a client', async () => {
    const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('qwen3'));
    const engine = createScriptedEngine({ chatTokenizer, replies: ['x'], contextLength: 30 });
    const open = openEpisode(
      { policy: { kind: 'engine', engine, chatTokenizer }, sampling },
      { episodeId: 'e', seed: 0 },
    );
    const tuner = open.createTuner();
    const models = ['anna', 'bert'].map((agentName) => tuner.selectModel({ agentName }, (model) => model));
    const long = { messages: [{ role: 'user' as const, content: 'hello '.repeat(50) }] };
    const error = (await models[1]?.generate(long).catch((thrown: unknown) => thrown)) as Error;
    const throughClient = new Error(`400 ${error.message}`);
    expect(toEpisodeError(throughClient, open).agent).toBe('bert');
    expect(toEpisodeError(new Error('of a tool'), open).agent).toBeUndefined();
  });

  it('is the only agent of an episode that has one, even if no call failed', () => {
    const open = openEpisode(
      { policy: { kind: 'chat', model: { name: 'm', generate: () => Promise.reject(new Error('no')) } }, sampling },
      { episodeId: 'e', seed: 0 },
    );
    open.createTuner().selectModel({ agentName: 'anna' }, (model) => model);
    expect(toEpisodeError(new Error('of a tool'), open).agent).toBe('anna');
  });
});
