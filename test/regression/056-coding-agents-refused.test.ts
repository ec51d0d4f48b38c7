import { startEndpointServer, type EndpointServer } from '@agentjet/endpoint';
import { openScriptedEpisode, toolCallText } from '@agentjet/rollout/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';

/**
 * Codex 0.169.0 and Claude Code 2.1.197 send requests of this form with their default configuration. The texts here are
 * different, and there are fewer tools. Codex got 400 on its first call. Claude Code did not find the route that counts
 * tokens. It asked the model instead, and each of these calls was trained.
 */

let server: EndpointServer;
beforeAll(async () => {
  server = await startEndpointServer();
});
afterAll(() => server.close());

const parameters = { type: 'object', properties: { command: { type: 'string' } }, additionalProperties: false };
const script = 'const made = await tools.exec_command({ cmd: "echo \\"hello\\"" });\ntext(made.output);';
function open(first: string) {
  const episode = openScriptedEpisode({ replies: [first, 'all done'], endpointHost: server });
  const { baseUrl, apiKey } = episode.tuner.asOpenAIEndpoint({ agentName: 'coder' });
  const post = async (path: string, body: object): Promise<Response> =>
    fetch(`${baseUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  return { ...episode, post };
}

type Item = { readonly type: string; readonly [key: string]: unknown };

/** Returns the items of a streamed answer, as Codex collects them. */
async function readItems(response: Response): Promise<readonly Item[]> {
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.stringContaining('response.completed')]);
  return [...text.matchAll(/^data: (.*)$/gm)]
    .map(([, data = '']) => JSON.parse(data) as { type: string; item: Item })
    .filter(({ type }) => type === 'response.output_item.done')
    .map(({ item }) => item);
}

const asCodex = {
  model: 'gpt-6.1-sol',
  stream: true,
  tool_choice: 'auto',
  parallel_tool_calls: false,
  reasoning: { effort: 'low', context: 'all_turns' },
  store: false,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: 'k',
  text: { verbosity: 'low' },
  client_metadata: { session_id: 's', 'x-codex-turn-metadata': '{"request_kind":"turn"}' },
};
const grammar = { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' };
const exec = { type: 'custom', name: 'exec', description: 'Runs a script.', format: grammar };
const wait = { type: 'function', name: 'wait', description: 'Waits.', strict: false, parameters };
const sleep = { type: 'function', name: 'sleep', description: 'Sleeps.', strict: false, parameters };
const tools = [
  { type: 'namespace', name: 'functions', description: '', tools: [exec, wait] },
  { type: 'namespace', name: 'clock', description: 'Time.', tools: [sleep] },
  { type: 'web_search', external_web_access: false },
];
const said = (role: string, text: string) => ({
  type: 'message',
  id: `msg_${text.length}`,
  role,
  content: [{ type: 'input_text', text }],
});
const conversation = [said('developer', 'You write programs.'), said('developer', 'Be brief.'), said('user', 'Begin.')];
const added = { type: 'additional_tools', id: 'at_1', role: 'developer', tools };

it.each([
  ['among the messages', { input: [added, ...conversation] }],
  ['in their own place', { input: conversation, tools }],
])('Codex calls a tool that it gives %s, and continues from the same answer', async (_where, given) => {
  const { post, engine, finish } = open(toolCallText('exec', JSON.stringify({ input: script })));
  const [call] = await readItems(await post('/responses', { ...asCodex, ...given }));
  expect(call).toMatchObject({ type: 'custom_tool_call', namespace: 'functions', name: 'exec', input: script });
  const result = {
    type: 'custom_tool_call_output',
    id: 'ctco_1',
    call_id: call?.['call_id'],
    output: ['Script completed\n', 'hello\n'].map((text) => ({ type: 'input_text', text })),
  };
  const input = [...given.input, call, result];
  expect(await readItems(await post('/responses', { ...asCodex, ...given, input }))).toMatchObject([
    { type: 'message', content: [{ text: 'all done' }] },
  ]);
  const [prompt = '', next = ''] = engine.requests.map(({ text }) => text);
  for (const shown of ['"name": "exec"', '"name": "wait"', '"name": "sleep"', 'You write programs.'])
    expect(prompt).toContain(shown);
  expect(prompt).not.toMatch(/web_search|additional_tools/);
  expect(next).toContain('Script completed\nhello');
  const { stats, samples, ignoredParameters } = finish();
  expect([stats.forks, stats.foreignMessages, samples.length]).toEqual([{}, {}, 1]);
  expect(ignoredParameters).toEqual({
    coder: { reasoning: 2, 'text.verbosity': 2, 'tools: grammar': 2, 'tools: web_search': 2 },
  });
});

it('a tool that is given again is shown once, as it was given last', async () => {
  const { post, engine } = open('hello');
  const again = { ...added, id: 'at_2', tools: [{ ...tools[1], tools: [{ ...sleep, description: 'Sleeps long.' }] }] };
  await readItems(await post('/responses', { ...asCodex, input: [added, ...conversation, again] }));
  expect(engine.requests[0]?.text?.match(/"name": "sleep"|Sleeps[^"]*/g)).toEqual(['"name": "sleep"', 'Sleeps long.']);
});

it('added tools that are not a list are refused by name', async () => {
  const { post } = open('hello');
  const response = await post('/responses', { ...asCodex, input: [{ ...added, tools: 'exec' }, ...conversation] });
  expect([response.status, await response.json()]).toEqual([
    400,
    { error: expect.objectContaining({ param: 'input[0]', message: expect.stringContaining('additional_tools') }) },
  ]);
});

const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...parameters };
const asClaude = {
  model: 'any',
  system: [{ type: 'text', text: 'You write programs.', cache_control: { type: 'ephemeral' } }],
  tools: [{ name: 'Bash', description: 'Runs a command.', input_schema: schema }],
  metadata: { user_id: '{"session_id":"s"}' },
  max_tokens: 32_000,
  thinking: { type: 'adaptive' },
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  output_config: { effort: 'high' },
};

it('Claude Code calls a tool, counts its context, and only its two answers are trained', async () => {
  const { post, engine, finish } = open(toolCallText('Bash', JSON.stringify({ command: 'echo hello' })));
  const messages: object[] = [
    { role: 'user', content: ['A reminder.', 'Begin.'].map((text) => ({ type: 'text', text })) },
    { role: 'system', content: 'Agents: none.' },
  ];
  const first = await post('/messages?beta=true', { ...asClaude, messages });
  const { content } = (await first.json()) as { content: readonly Item[] };
  expect(content).toMatchObject([{ type: 'tool_use', name: 'Bash', input: { command: 'echo hello' } }]);
  const result = { type: 'tool_result', tool_use_id: content[0]?.['id'], content: 'hello', is_error: false };
  messages.push(
    { role: 'assistant', content },
    { role: 'user', content: [{ ...result, cache_control: { type: 'ephemeral' } }] },
  );
  expect((await post('/messages?beta=true', { ...asClaude, messages })).status).toBe(200);

  for (const counted of [[], asClaude.tools]) {
    const body = { model: 'any', messages: [{ role: 'user', content: 'You write programs.' }], tools: counted };
    const response = await post('/messages/count_tokens?beta=true', body);
    expect([response.status, await response.json()]).toEqual([200, { input_tokens: expect.any(Number) }]);
  }
  const { stats, samples } = finish();
  expect([engine.requests.length, samples.length, stats.forks, stats.foreignMessages]).toEqual([2, 1, {}, {}]);
});
