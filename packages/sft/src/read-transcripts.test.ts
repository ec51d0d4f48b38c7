import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createConfig } from '@agentjet/inputs/testing';
import { prepareExamples } from './prepare-examples.js';
import { readTranscripts } from './read-transcripts.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'transcripts-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('chatml'));

function read(content: string | readonly object[], sft: object = {}, name = 'chats.jsonl') {
  const text = typeof content === 'string' ? content : content.map((line) => `${JSON.stringify(line)}\n`).join('');
  writeFileSync(path.join(folder, name), text);
  const config = createConfig({ sft: { transcripts: path.join(folder, name), heldOut: 0, ...sft } });
  return { config, reading: readTranscripts(config, { modelDir: folder, chatTokenizer }) };
}

async function prepare(
  content: string | readonly object[],
  sft: object = {},
  evaluationTasks: Parameters<typeof prepareExamples>[1]['evaluationTasks'] = [],
) {
  const { config, reading } = read(content, sft);
  const { transcripts } = await reading;
  return prepareExamples(transcripts, { config, replay: { chatTokenizer }, evaluationTasks });
}

const said = (examples: Awaited<ReturnType<typeof prepare>>['training']) =>
  examples.map(({ rows }) =>
    rows
      .map(({ ids, lossMask }) => chatTokenizer.tokenizer.decode([...ids].filter((_, at) => lossMask[at] === 1)))
      .join('|'),
  );
const chat = (question: string, answer: string, more: object = {}) => ({
  messages: [
    { role: 'user', content: question },
    { role: 'assistant', content: answer },
  ],
  ...more,
});
const task = (mainQuery: string, taskId = mainQuery) => ({ taskId, mainQuery, initMessages: [], metadata: {} });

it("takes OpenAI's fine-tuning format as it is: tools, calls, weights, parts of content, null for no content", async () => {
  const call = { id: 'c', type: 'function', function: { name: 'add', arguments: '{"a": 1}' } };
  const { training } = await prepare([
    {
      messages: [
        { role: 'system', content: 'You add.' },
        { role: 'user', content: [{ type: 'text', text: 'One?' }] },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c', content: '1' },
        { role: 'assistant', content: 'Never mind.', weight: 0 },
        { role: 'user', content: 'Well?' },
        { role: 'assistant', content: 'It is 1.', weight: 1 },
      ],
      tools: [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }],
      parallel_tool_calls: false,
    },
  ]);
  expect(said(training)).toEqual([
    '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call><|im_end|>It is 1.<|im_end|>',
  ]);
});

it('takes calls without ids, with arguments as objects', async () => {
  const { training } = await prepare([
    {
      messages: [
        { role: 'user', content: 'One?' },
        {
          role: 'assistant',
          content: '',
          tool_calls: [{ type: 'function', function: { name: 'add', arguments: { a: 1 } } }],
        },
        { role: 'tool', content: '1' },
        { role: 'assistant', content: 'It is 1.' },
      ],
    },
  ]);
  expect(said(training)).toEqual([
    '<tool_call>\n{"name": "add", "arguments": {"a":1}}\n</tool_call><|im_end|>It is 1.<|im_end|>',
  ]);
});

it('leaves out what did not succeed, is repeated, is too long or failed, and counts it', async () => {
  const { training, dropped } = await prepare(
    [
      chat('One?', 'Yes.', { reward: 1, is_success: true }),
      chat('Two?', 'No.', { reward: 0, is_success: false }),
      chat('One?', 'Yes.', { reward: 1, is_success: true }),
      chat('Three?', 'Perhaps.', { reward: 0.4, is_success: true }),
      chat('Four?', 'Long. '.repeat(200)),
      chat('Five?', 'Unjudged.'),
      { messages: [], status: 'failed' },
      { messages: [{ role: 'user', content: 'Six?' }] },
    ],
    { minReward: 0.5, maxLength: 200 },
  );
  expect(said(training)).toEqual(['Yes.<|im_end|>', 'Unjudged.<|im_end|>']);
  expect(dropped).toEqual({
    not_successful: 1,
    duplicate: 1,
    below_min_reward: 1,
    too_long: 1,
    failed: 1,
    nothing_imitated: 1,
  });
});

it('never trains a task of the evaluation, by its content, its question, its id alone, or the words of a user', async () => {
  const held = [task('What is the sum of two and three?', 'h1'), task('short', 'h2')];
  const { training, dropped } = await prepare(
    [
      chat('x', 'a', { task: { task_id: 'other', main_query: 'What is the  sum of two and THREE?' } }),
      chat('x', 'b', { task_id: 'h2' }),
      chat('Answer: what is the sum of two and three? Be brief.', 'c'),
      chat('Short', 'd'),
      chat('a short one is another question', 'e'),
      chat('x', 'f', { task: { task_id: 'h1', main_query: 'Another question with the same id' } }),
    ],
    {},
    held,
  );
  expect(said(training)).toEqual(['e<|im_end|>', 'f<|im_end|>']);
  expect(dropped).toEqual({ held_out_task: 4 });
});

it('holds out whole tasks, the same ones when there are more transcripts', async () => {
  const lines = Array.from({ length: 40 }, (_, index) => chat(`Question ${index % 20}?`, `Answer ${index}.`));
  const few = await prepare(lines, { heldOut: 0.2 });
  const many = await prepare([...lines, ...Array.from({ length: 40 }, (_, index) => chat(`More ${index}?`, 'Yes.'))], {
    heldOut: 0.2,
  });
  const keys = (examples: typeof few.heldOut) => new Set(examples.map(({ taskKey }) => taskKey));
  expect(few.heldOut.length).toBeGreaterThan(0);
  expect([...keys(few.heldOut)].filter((key) => keys(few.training).has(key))).toEqual([]);
  expect([...keys(few.heldOut)].filter((key) => !keys(many.heldOut).has(key))).toEqual([]);
});

it('holds out a task by what it asks, under any id', async () => {
  const lineOf = (at: number, taskId: string, answer: string) =>
    chat(`Question ${at}?`, answer, { task: { task_id: taskId, main_query: `Question ${at}?`, metadata: { at } } });
  const left = Array.from({ length: 20 }, (_, at) => lineOf(at, `left-${at}`, 'Yes.'));
  const right = Array.from({ length: 20 }, (_, at) => lineOf(19 - at, `${at}`, 'No.'));
  const { training, heldOut } = await prepare([...left, ...right], { heldOut: 0.3 });
  const questions = (examples: typeof heldOut) => examples.map(({ taskKey }) => /question \d+/.exec(taskKey)?.[0]);
  expect(heldOut.length).toBeGreaterThan(0);
  expect(heldOut.length % 2).toBe(0);
  expect(questions(heldOut).filter((question) => questions(training).includes(question))).toEqual([]);
});

it('knows an evaluation task by the words of a user if its line has nothing of the task but metadata', async () => {
  const held = [task('What is the sum of two and three?', 'h1')];
  const from = (taskId: string) => ({ task: { task_id: taskId, metadata: { source: 'export' } } });
  const { training, dropped } = await prepare(
    [
      chat('What is the sum of two and three?', 'a', from('other')),
      chat('What is the sum of two and four?', 'b', from('h1')),
    ],
    {},
    held,
  );
  expect(said(training)).toEqual(['b<|im_end|>']);
  expect(dropped).toEqual({ held_out_task: 1 });
});

it('takes what is known of an episode from each of its lines, and the worse of two verdicts', async () => {
  const ofOne = (id: string, ...lines: readonly object[]) =>
    lines.map((line, at) => ({ ...chat(`${id} ${at}?`, `${id}${at}`, { ...line, episode_id: id }) }));
  const { training, dropped } = await prepare(
    [
      ...ofOne('judged-later', {}, { reward: 0, is_success: false }),
      ...ofOne('disagree', { is_success: false }, { is_success: true }),
      ...ofOne('cut', {}, { status: 'failed' }),
      ...ofOne('low', { reward: 1 }, { reward: 0.2 }),
      ...ofOne('held', {}, { task_id: 'h1' }),
      ...ofOne('good', {}, { reward: 1, is_success: true }),
    ],
    { minReward: 0.5 },
    [task('Anything', 'h1')],
  );
  expect(training.map(({ id, reward }) => [id, reward])).toEqual([['good', 1]]);
  expect(dropped).toEqual({ not_successful: 2, failed: 1, below_min_reward: 1, held_out_task: 1 });
});

it('ends a line at a line feed alone, with any content of the JSON', async () => {
  const odd = JSON.stringify(chat('One\u2028two?', 'Yes\u2029no.')).replace(':[', ':\r[');
  const { training } = await prepare(`\uFEFF${odd}\r\n\n${JSON.stringify(chat('Three?', 'Four.'))}`);
  expect(said(training)).toEqual(['Yes\u2029no.<|im_end|>', 'Four.<|im_end|>']);
});

it('refuses a file that is not UTF-8 instead of training other letters', async () => {
  const file = path.join(folder, 'latin.jsonl');
  writeFileSync(
    file,
    Buffer.from(`${JSON.stringify(chat('a', 'b'))}\n${JSON.stringify(chat('x', 'caf\u00E9'))}\n`, 'latin1'),
  );
  const config = createConfig({ sft: { transcripts: file } });
  await expect(readTranscripts(config, { modelDir: folder, chatTokenizer })).rejects.toThrow(
    /latin\.jsonl:2 is not a conversation: it is not UTF-8\. Save the file as UTF-8/,
  );
});

it('says which agents have answered if none of them is to be imitated', async () => {
  await expect(prepare([chat('a', 'b', { agent: 'critic' })], { agents: ['solver'] })).rejects.toThrow(
    /chats\.jsonl:1: its agent is critic, and sft\.agents names solver/,
  );
});

it.each([
  ['a line that is not JSON', '{"messages": [', /chats\.jsonl:1 is not a conversation: it is not a JSON object/],
  ['another format', '{"conversations": []}', /has no list "messages".*"conversations" is of another format/],
  [
    'a role that does not exist',
    '\n{"messages": [{"role": "robot", "content": "x"}]}',
    /chats\.jsonl:2 .*messages\[0\]\.role/,
  ],
  ['an image', '{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}', /image_url/],
  [
    'a weight of 2',
    JSON.stringify({ messages: [{ role: 'assistant', content: 'x', weight: 2 }] }),
    /messages\[0\]\.weight is 2/,
  ],
  [
    'a call in the older form',
    '{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": null, "function_call": {"name": "f"}}]}',
    /messages\[1\]\.function_call is the older form of a call\. Write "tool_calls": .*"function": \{"name":"f"\}/,
  ],
  [
    'an answer that says nothing',
    '{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": null, "refusal": "No."}]}',
    /messages\[1\] is an answer with neither content nor tool_calls/,
  ],
  ['a reward in words', JSON.stringify(chat('a', 'b', { reward: 'high' })), /"reward" is "high"; it must be a number/],
])('names the line of %s', async (_what, content, message) => {
  await expect(read(`${content}\n`).reading).rejects.toMatchObject({
    code: 'bad_transcript',
    message: expect.stringMatching(message),
  });
});

it('says that nothing is left, and why', async () => {
  await expect(prepare([{ messages: [{ role: 'user', content: 'x' }] }])).rejects.toMatchObject({
    code: 'nothing_to_imitate',
    message: expect.stringMatching(
      /No example is left to imitate, of 1: 1 without an answer to imitate.*\n {2}- .*chats\.jsonl:1/s,
    ),
  });
});

it('stops at an example that is too long, if it is set to', async () => {
  await expect(prepare([chat('a', 'b')], { maxLength: 5, overlong: 'error' })).rejects.toMatchObject({
    code: 'example_too_long',
    message: expect.stringMatching(/chats\.jsonl:1 has \d+ tokens, and sft\.max_length is 5/),
  });
});

it('says what can be read if nothing is named, or nothing is there', async () => {
  const options = { modelDir: folder, chatTokenizer };
  await expect(readTranscripts(createConfig({}), options)).rejects.toMatchObject({ code: 'no_transcripts' });
  const missing = createConfig({ sft: { transcripts: [path.join(folder, 'nowhere.jsonl')] } });
  await expect(readTranscripts(missing, options)).rejects.toThrow(/There is nothing at .*nowhere\.jsonl/);
});

it('takes the last line of a file without a line end', async () => {
  expect((await prepare(JSON.stringify(chat('a', 'b')))).training).toHaveLength(1);
});

/** A trajectory as Harbor's importer of Claude Code writes it. */
const trajectory = {
  schema_version: 'ATIF-v1.7',
  session_id: 's1',
  agent: { name: 'claude-code', version: '2.1.0', model_name: 'claude-opus', extra: { cwds: ['/app'] } },
  steps: [
    { step_id: 1, source: 'system', message: 'You code.', extra: { is_sidechain: false } },
    { step_id: 2, source: 'user', message: 'Count the files.', timestamp: '2026-01-01T00:00:00Z' },
    {
      step_id: 3,
      source: 'agent',
      message: '',
      reasoning_content: 'I look.',
      tool_calls: [{ tool_call_id: 'toolu_1', function_name: 'Bash', arguments: { command: 'ls' } }],
      observation: { results: [{ source_call_id: 'toolu_1', content: 'one two' }] },
      metrics: { prompt_tokens: 10, completion_tokens: 5, cached_tokens: 3 },
    },
    { step_id: 4, source: 'agent', message: 'Old.', is_copied_context: true },
    { step_id: 5, source: 'agent', message: 'Two files.', llm_call_count: 1 },
  ],
  final_metrics: { total_steps: 5 },
};

it.each(['trajectory.json', 'trajectories.jsonl'])(
  'takes ATIF: an answer is imitated unless it is context (%s)',
  async (name) => {
    const text = name.endsWith('.json') ? JSON.stringify(trajectory, null, 2) : JSON.stringify(trajectory);
    const { config, reading } = read(text, {}, name);
    const { transcripts, sources } = await reading;
    expect(sources).toMatchObject([{ examples: 1 }]);
    expect(transcripts[0]?.conversations[0]).toMatchObject({
      agentName: 'claude-code',
      messages: [
        { role: 'system' },
        { role: 'user', content: 'Count the files.' },
        { role: 'assistant', reasoning: 'I look.', toolCalls: [{ id: 'toolu_1', arguments: '{"command":"ls"}' }] },
        { role: 'tool', toolCallId: 'toolu_1', content: 'one two' },
        { role: 'assistant', content: 'Old.' },
        { role: 'assistant', content: 'Two files.' },
      ],
      imitated: [false, false, true, false, false, true],
    });
    const { training } = await prepareExamples(transcripts, { config, replay: { chatTokenizer }, evaluationTasks: [] });
    expect(said(training).join()).toContain('Two files.');
    expect(said(training).join()).not.toContain('Old.');
  },
);

it('takes a conversation of each subagent inside of a trajectory', async () => {
  const inner = { ...trajectory, trajectory_id: 'sub', agent: { name: 'searcher', version: '1' } };
  const { transcripts } = await read([{ ...trajectory, subagent_trajectories: [inner] }], {}, 'subagents.jsonl')
    .reading;
  expect(transcripts.map(({ conversations }) => conversations.map(({ agentName }) => agentName))).toEqual([
    ['claude-code', 'searcher'],
  ]);
});

it.each([
  [{ steps: [] }, /steps is empty/],
  [{ agent: {} }, /agent\.name is missing/],
  [{ steps: [{ step_id: 2, source: 'user', message: 'x' }] }, /steps\[0\]\.step_id is 2; it must be 1/],
  [
    { steps: [{ step_id: 1, source: 'user', message: [{ type: 'image', source: {} }] }] },
    /steps\[0\]\.message\[0\] has the type 'image'. The model reads only text/,
  ],
  [
    { steps: [{ step_id: 1, source: 'agent', message: '', observation: { results: [{ source_call_id: 'x' }] } }] },
    /source_call_id is "x", which is not a call of this step/,
  ],
])('names what is wrong with a trajectory: %j', async (wrong, words) => {
  await expect(read([{ ...trajectory, ...wrong }], {}, 'wrong.jsonl').reading).rejects.toThrow(words);
});

it('takes only transcripts.jsonl of a folder of conversations, which has feedback too', async () => {
  mkdirSync(path.join(folder, 'week'));
  writeFileSync(path.join(folder, 'week', 'feedback.jsonl'), '{"id": "ann/1", "thumb": "up"}\n');
  read([chat('a', 'b')], {}, 'week/transcripts.jsonl');
  const config = createConfig({ sft: { transcripts: path.join(folder, 'week') } });
  const { sources } = await readTranscripts(config, { modelDir: folder, chatTokenizer });
  expect(sources).toMatchObject([{ path: path.join(folder, 'week', 'transcripts.jsonl'), examples: 1 }]);
});
