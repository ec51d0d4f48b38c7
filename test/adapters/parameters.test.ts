import { type Protocol, protocolNames, type Wish, wishes } from '@agentjet/core';
import { asModel as asAiSdkModel } from '@agentjet/ai-sdk';
import { startEndpointServer, type EndpointServer } from '@agentjet/endpoint';
import { asModel as asLangChainModel } from '@agentjet/langgraph';
import { asModel as asOpenAIModel } from '@agentjet/openai';
import { asModel as asAgentsModel } from '@agentjet/openai-agents';
import { openScriptedEpisode, type ScriptedEpisode } from '@agentjet/rollout/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/**
 * Walks the table of parameters: each one is sent through its own API to a model that says "hello", and what becomes of
 * it must be what the table says. A parameter without a value here fails, so that no row is left out.
 */

let server: EndpointServer;

beforeAll(async () => {
  server = await startEndpointServer();
});

afterAll(() => server.close());

type Request = Record<string, unknown>;
const schema = { type: 'object', properties: { sum: { type: 'number' } } };
const user = { role: 'user', content: 'hi' };

/** The smallest request of each API. */
const smallest: Readonly<Record<Protocol, Request>> = {
  chat: { model: 'm', messages: [user] },
  completions: { model: 'm', prompt: 'hi' },
  responses: { model: 'm', input: 'hi' },
  messages: { model: 'm', messages: [user], max_tokens: 50 },
  langgraph: {},
  aiSdk: { prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] },
  agents: { input: 'hi', modelSettings: {}, tools: [], outputType: 'text', handoffs: [], tracing: false },
};

const tools: Readonly<Record<Protocol, (extra?: Request) => readonly Request[]>> = {
  chat: (extra) => [{ type: 'function', function: { name: 'add', parameters: schema, ...extra } }],
  completions: () => [],
  responses: (extra) => [{ type: 'function', name: 'add', parameters: schema, ...extra }],
  messages: (extra) => [{ name: 'add', input_schema: schema, ...extra }],
  langgraph: (extra) => [{ type: 'function', function: { name: 'add', parameters: schema, ...extra } }],
  aiSdk: (extra) => [{ type: 'function', name: 'add', inputSchema: schema, ...extra }],
  agents: (extra) => [{ type: 'function', name: 'add', description: 'adds', parameters: schema, ...extra }],
};

const formats: Readonly<Partial<Record<string, unknown>>> = {
  response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
  'text.format': { type: 'json_schema', name: 'answer', schema },
  'output_config.format': { type: 'json_schema', schema },
  responseFormat: { type: 'json', schema },
  outputType: { type: 'json_schema', name: 'answer', schema },
};

/** A value that asks for something, by name or by the last part of a name. */
const values: Readonly<Record<string, unknown>> = {
  model: 'm',
  messages: [user],
  system: 'Be brief.',
  instructions: 'Be brief.',
  systemInstructions: 'Be brief.',
  parallel_tool_calls: false,
  parallelToolCalls: false,
  disable_parallel_tool_use: true,
  max_completion_tokens: 7,
  max_tokens: 7,
  max_output_tokens: 7,
  maxTokens: 7,
  maxCompletionTokens: 7,
  maxOutputTokens: 7,
  temperature: 0.5,
  top_p: 0.5,
  topP: 0.5,
  top_k: 5,
  topK: 5,
  seed: 3,
  n: 2,
  stop: ['END'],
  stop_sequences: ['END'],
  stopSequences: ['END'],
  logprobs: true,
  stream: false,
  stream_options: null,
  includeRawChunks: false,
  train: false,
  requestId: 'r',
  user: 'u',
  metadata: { a: 'b' },
  client_metadata: { a: 'b' },
  store: true,
  service_tier: 'auto',
  safety_identifier: 's',
  prompt_cache_key: 'k',
  promptCacheKey: 'k',
  prompt_cache_retention: '24h',
  prompt_cache_options: {},
  promptCacheRetention: '24h',
  promptCacheOptions: {},
  include: [],
  inference_geo: 'eu',
  cache_control: { type: 'ephemeral' },
  tool_choice: 'none',
  toolChoice: 'none',
  reasoning_effort: 'high',
  reasoningEffort: 'high',
  reasoning: { effort: 'high' },
  thinking: { type: 'adaptive' },

  effort: 'high',
  verbosity: 'low',
  strict: true,
  strictJsonSchema: true,
  web_search_options: {},
  mcp_servers: [{ url: 'http://x' }],
  container: 'c',
  context_management: [{ type: 'compaction' }],
  contextManagement: [{ type: 'compaction' }],
  prediction: { type: 'content' },
  speed: 'fast',
  maxRetries: 3,
  frequency_penalty: 0.5,
  presence_penalty: 0.5,
  frequencyPenalty: 0.5,
  presencePenalty: 0.5,
  min_p: 0.5,
  minP: 0.5,
  repetition_penalty: 1.2,
  repetitionPenalty: 1.2,
  logit_bias: { 5: 1 },
  logitBias: { 5: 1 },

  top_logprobs: 3,
  topLogprobs: 3,
  best_of: 2,
  suffix: 'x',
  echo: true,
  modalities: ['audio'],
  audio: {},
  truncation: 'auto',
  background: true,
  conversation: 'c',
  thread: 't',
  previousResponseId: 'r',
  conversationId: 'c',
  prompt: { id: 'p' },
  max_tool_calls: 3,
  functions: [{}],
  function_call: 'auto',
  chat_template: 'x',
  chat_template_kwargs: { enable_thinking: false },
  chatTemplateKwargs: { enable_thinking: false },
};

/** Of names that mean something else in one API. */
const ownValues: Readonly<Partial<Record<Protocol, Readonly<Record<string, unknown>>>>> = {
  completions: { prompt: 'hi', logprobs: 3 },
  responses: { input: 'hi' },
  messages: { tool_choice: { type: 'none' } },
  aiSdk: { prompt: smallest.aiSdk['prompt'], toolChoice: { type: 'none' }, reasoning: 'high' },
  agents: { input: 'hi' },
};

/** Of what is said of a tool; others are true. */
const toolValues: Readonly<Record<string, unknown>> = {
  input_examples: [{ a: 1 }],
  inputExamples: [{ input: { a: 1 } }],
  extras: { defer_loading: true },
};

/** Requests that ask for one wish. */
function toRequests(protocol: Protocol, name: string): readonly Request[] {
  const request = { ...smallest[protocol] };
  const [place = '', types] = name.split('=');
  if (place === 'tools') return [{ ...request, tools: tools[protocol]() }];
  if (place === 'tools[].type')
    return (types ?? '').split('|').map((type) => ({ ...request, tools: [{ type, id: 'x.y', name: 'n', args: {} }] }));
  if (
    types !== undefined &&
    wishes.some(({ asks, names }) => asks === 'no_thinking' && names[protocol]?.includes(name))
  )
    return [withValue(request, place.split('.'), types)];
  if (place === 'include') return [{ ...request, include: types === undefined ? [] : [types] }];
  if (place.startsWith('tools[].function.')) return [{ ...request, tools: tools[protocol]({ strict: true }) }];
  if (place === 'tools[].format.type')
    return [{ ...request, tools: [{ type: 'custom', name: 'edit', format: { type: 'grammar' } }] }];
  if (place === 'tools[].custom.format.type')
    return [{ ...request, tools: [{ type: 'custom', custom: { name: 'edit', format: { type: 'grammar' } } }] }];
  if (place.startsWith('tools[].')) {
    const key = place.slice('tools[].'.length);
    const said = { [key]: toolValues[key] ?? true };
    if (protocol === 'langgraph') return [{ ...request, tools: tools.messages(said) }];
    return [{ ...request, tools: tools[protocol](said) }];
  }
  if (place.startsWith('messages[].content[].citations')) {
    const source = { type: 'text', media_type: 'text/plain', data: 'x' };
    const content = [{ type: 'document', source, citations: { enabled: true } }];
    return [{ ...request, messages: [{ role: 'user', content }] }];
  }
  if (place === 'input[].additional_tools') {
    const tools = [{ type: 'function', name: 'more', parameters: schema }];
    const added = { type: 'additional_tools', role: 'developer', tools };
    return [{ ...request, input: [added, { type: 'message', role: 'user', content: 'hi' }] }];
  }
  if (place === 'tool_choice.disable_parallel_tool_use')
    return [{ ...request, tool_choice: { type: 'auto', disable_parallel_tool_use: true } }];
  if (place.startsWith('handoffs')) {
    const handoff = {
      toolName: 'to',
      toolDescription: 'x',
      inputJsonSchema: schema,
      strictJsonSchema: place !== 'handoffs',
    };
    return [{ ...request, handoffs: [handoff] }];
  }
  if (place.endsWith('.strict')) return [withStrictFormat(request, protocol)];
  return [withValue(request, place.split('.'), valueOf(protocol, place))];
}

function withStrictFormat(request: Request, protocol: Protocol): Request {
  const name =
    wishes.flatMap(({ wish, names }) => (wish === 'an answer in JSON' ? (names[protocol] ?? []) : []))[0] ?? '';
  const format = structuredClone(formats[name]) as { json_schema?: Request } & Request;
  (format.json_schema ?? format)['strict'] = true;
  return withValue(request, name.split('.'), format);
}

function withValue(request: Request, [key = '', ...rest]: readonly string[], value: unknown): Request {
  return { ...request, [key]: rest.length === 0 ? value : withValue((request[key] ?? {}) as Request, rest, value) };
}

function valueOf(protocol: Protocol, name: string): unknown {
  const last = name.split('.').at(-1) ?? '';
  const own = ownValues[protocol] ?? {};
  for (const [source, key] of [
    [formats, name],
    [own, last],
    [values, last],
  ] as const)
    if (key in source) return source[key];
  throw new Error(`There is no value for "${name}" of ${protocol} in this test.`);
}

const paths: Readonly<Partial<Record<Protocol, string>>> = {
  chat: '/chat/completions',
  completions: '/completions',
  responses: '/responses',
  messages: '/messages',
};

/** Throws with the words of the refusal. */
async function send({ tuner }: ScriptedEpisode, protocol: Protocol, request: Request): Promise<void> {
  const options = { agentName: 'solver' };
  if (protocol === 'langgraph') return void (await asLangChainModel(tuner, options).invoke('hi', request));
  if (protocol === 'aiSdk') return void (await asAiSdkModel(tuner, options).doGenerate(request as never));
  if (protocol === 'agents') return void (await asAgentsModel(tuner, options).getResponse(request as never));
  const { baseUrl, apiKey } = tuner.asOpenAIEndpoint(options);
  const init = { method: 'POST', headers: { 'x-api-key': apiKey }, body: JSON.stringify(request) };
  const response = await fetch(baseUrl + paths[protocol], init);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
}

async function outcomeOf(protocol: Protocol, request: Request, sendBy = send) {
  const episode = openScriptedEpisode({ replies: ['{"sum": 3}'], endpointHost: server });
  const refusal = await sendBy(episode, protocol, request).then(
    () => undefined,
    (error: unknown) => String(error instanceof Error ? error.message : error),
  );
  const { ignoredParameters, calls } = episode.finish();
  return { refusal, ignored: Object.keys(ignoredParameters['solver'] ?? {}), calls };
}

const rows = wishes.flatMap((wish) =>
  (Object.keys(protocolNames) as Protocol[]).flatMap((protocol) =>
    (wish.names[protocol] ?? []).map((name) => [protocol, name, wish] as const),
  ),
);
const ofTreatment = (treatment: Wish['treatment']) => rows.filter(([, , wish]) => wish.treatment === treatment);
/** They need an earlier answer; the tests of the endpoint have one. */
const withHistory = ['previous_response_id', 'input[].item_reference'];

describe('what is honoured is accepted', () => {
  const honoured = ofTreatment('honoured').filter(([, name]) => !withHistory.includes(name));
  it.each(honoured)('%s: %s', async (protocol, name) => {
    for (const request of toRequests(protocol, name)) {
      expect(await outcomeOf(protocol, request)).toMatchObject({ refusal: undefined, ignored: [] });
    }
  });
});

describe('what has no effect is accepted and counted', () => {
  it.each(ofTreatment('reported'))('%s: %s', async (protocol, name) => {
    for (const request of toRequests(protocol, name)) {
      const { refusal, ignored, calls } = await outcomeOf(protocol, request);
      expect([refusal, calls.answered]).toEqual([undefined, 1]);
      expect(ignored).toEqual([expect.stringContaining(name.split(/[[=]/)[0] ?? '')]);
    }
  });
});

describe('what is refused is refused by its name, unless it changes nothing', () => {
  it.each(ofTreatment('refused'))('%s: %s', async (protocol, name, { neutral = [] }) => {
    for (const request of toRequests(protocol, name)) {
      const { refusal, calls } = await outcomeOf(protocol, request);
      expect(refusal).toContain(name);
      expect(calls.answered).toBe(0);
    }
    for (const harmless of [null, ...neutral]) {
      const request = withValue(smallest[protocol], name.split('.'), harmless);
      expect(await outcomeOf(protocol, request)).toMatchObject({ refusal: undefined, ignored: [] });
    }
  });
});

describe('the native OpenAI client treats each parameter as the endpoint does', () => {
  const sendNative: typeof send = async ({ tuner }, _protocol, request) =>
    void (await asOpenAIModel(tuner, { agentName: 'solver' }).chat.completions.create(request as never));

  it.each(rows.filter(([protocol]) => protocol === 'chat'))('%s: %s', async (protocol, name) => {
    for (const request of toRequests(protocol, name)) {
      const [native, overHttp] = [await outcomeOf(protocol, request, sendNative), await outcomeOf(protocol, request)];
      expect(native).toEqual({ ...overHttp, refusal: overHttp.refusal && expect.stringContaining(name) });
    }
  });
});

describe('what nobody knows is refused by its name', () => {
  it.each([
    ['chat', 'made_up'],
    ['completions', 'made_up'],
    ['responses', 'made_up'],
    ['messages', 'made_up'],
    ['langgraph', 'made_up'],
    ['agents', 'modelSettings.providerData.made_up'],
  ] as const)('%s', async (protocol, name) => {
    const { refusal } = await outcomeOf(protocol, withValue(smallest[protocol], name.split('.'), 1));
    expect(refusal).toContain('made_up');
  });
});
