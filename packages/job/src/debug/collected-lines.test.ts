import type { AssistantMessage, ChatFinishReason, ChatMessage, ToolSpec } from '@agentjet/core';
import { expect, it } from 'vitest';
import { toCollectedLines } from './collected-lines.js';
import type { TranscriptCall, EpisodeTranscript } from '@agentjet/records';

const user = (content: string): ChatMessage => ({ role: 'user', content });
const said = (content: string): AssistantMessage => ({ role: 'assistant', content });
const add: ToolSpec = { name: 'add', parameters: { type: 'object' } };
const calls = (written: string): AssistantMessage => ({
  ...said(''),
  toolCalls: [{ id: 'c1', name: 'add', arguments: written }],
});

type Asked = {
  readonly agentName?: string;
  readonly tools?: readonly ToolSpec[];
  readonly finishReason?: ChatFinishReason;
};

function call(messages: readonly ChatMessage[], message: AssistantMessage, asked: Asked = {}): TranscriptCall {
  const { agentName = 'solver', tools = [], finishReason = 'stop' } = asked;
  const usage = { promptTokens: 0, completionTokens: 0 };
  return {
    agentName,
    targetTag: 'player',
    request: { messages, tools },
    seconds: 0,
    beganMs: 0,
    response: { id: 'x', model: 'large', message, finishReason, usage },
  };
}

/** The fields of an episode that these tests need. */
const episode = {
  episodeId: 'a-r0',
  repeatIndex: 0,
  status: 'completed',
  reward: 1,
  isSuccess: true,
  task: { taskId: 'a', mainQuery: 'What?', initMessages: [], metadata: { inStock: 3 } },
} as unknown as EpisodeTranscript['episode'];

function lines(...recorded: readonly TranscriptCall[]) {
  return toCollectedLines({ episode, calls: recorded }).map(
    (line) => JSON.parse(JSON.stringify(line)) as Record<string, unknown>,
  );
}
/** Shows a conversation, with the imitated answers in brackets. */
const show = ({ messages }: Record<string, unknown>): string =>
  (messages as readonly { role: string; content: string; weight?: number }[])
    .map(({ role, content, weight }) => (role === 'assistant' && weight !== 0 ? `[${content}]` : content))
    .join(' ');

it('makes one line of calls that continue each other, with what is known of the episode', () => {
  const first = [user('a')];
  const second = [...first, said('b'), user('c')];
  const [line, ...others] = lines(call(first, said('b')), call(second, said('d')));
  expect(others).toEqual([]);
  expect(show(line ?? {})).toBe('a [b] c [d]');
  expect(line).toMatchObject({
    episode_id: 'a-r0',
    agent: 'solver',
    target: 'player',
    reward: 1,
    is_success: true,
    task: { task_id: 'a', main_query: 'What?', metadata: { inStock: 3 } },
  });
});

it('knows an answer again that a framework has spelled in another way, and keeps it as it was', () => {
  const first = [user('a')];
  const own = calls('{"x": 1}');
  const sent = [...first, calls('{"x":1}'), { role: 'tool', toolCallId: 'c1', content: '1' } as const];
  const [line, ...others] = lines(call(first, own, { tools: [add] }), call(sent, said(' d'), { tools: [add] }));
  expect(others).toEqual([]);
  expect(JSON.stringify(line?.['messages'])).toContain(String.raw`{\"x\": 1}`);
  expect(line?.['tools']).toMatchObject([{ type: 'function', function: { name: 'add' } }]);
});

it('gives a history that was begun anew, and each agent and set of tools, a line; an answer is imitated once', () => {
  const first = [user('a')];
  const found = lines(
    call(first, said('b')),
    call([...first, said('b'), user('c')], said('d')),
    call([...first, said('b'), user('other')], said('e')),
    call([user('new')], said('f')),
    call(first, said('g'), { agentName: 'critic' }),
    call(first, said('h'), { tools: [add] }),
  );
  expect(found.map(show)).toEqual(['a [b] c [d]', 'a b other [e]', 'new [f]', 'a [g]', 'a [h]']);
});

it('imitates no answer that was cut, none of an agent that does not learn, and none that failed', () => {
  const cut = call([user('a')], said('half'), { finishReason: 'length' });
  const { request, ...rest } = call([user('x')], said('y'));
  const untrained = { ...rest, request, untrainedModel: 'gpt' };
  const failed = { agentName: 'solver', request, seconds: 0, beganMs: 0, error: 'gone' };
  const after = call([user('a'), said('half'), user('more')], said('whole'));
  expect(lines(cut, untrained, failed, after).map(show)).toEqual(['a half more [whole]']);
});

it('keeps an episode in which nothing was said, so that it is not run again', () => {
  expect(lines()).toMatchObject([{ episode_id: 'a-r0', messages: [] }]);
});
