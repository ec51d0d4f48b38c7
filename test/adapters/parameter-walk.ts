import type { ChatRequest } from '@agentjet/core';
import { type Protocol, protocolNames, type Wish, wishes } from '@agentjet/core/parameters';
import { asModel as asAiSdkModel } from '@agentjet/ai-sdk';
import type { EndpointServer } from '@agentjet/endpoint';
import { asModel as asGoogleModel } from '@agentjet/google';
import { asModel as asLangChainModel } from '@agentjet/langgraph';
import { asModel as asAnthropicModel } from '@agentjet/anthropic';
import { asModel as asOpenAIModel } from '@agentjet/openai';
import { asModel as asAgentsModel } from '@agentjet/openai-agents';
import type { CallCounts } from '@agentjet/rollout';
import { openScriptedEpisode, type ScriptedEpisode } from '@agentjet/rollout/testing';
import type { GoogleGenAI } from '@google/genai';
import { formats, schema, toolValues, user, values } from './parameter-values.js';

/** Sends each parameter of the table through its own API to a model that answers in JSON, and returns the outcome. */

export type Request = Record<string, unknown>;

/** The smallest request of each API. */
export const smallest: Readonly<Record<Protocol, Request>> = {
  chat: { model: 'm', messages: [user] },
  completions: { model: 'm', prompt: 'hi' },
  responses: { model: 'm', input: 'hi' },
  messages: { model: 'm', messages: [user], max_tokens: 50 },
  gemini: { model: 'm', contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  langgraph: {},
  aiSdk: { prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] },
  agents: { input: 'hi', modelSettings: {}, tools: [], outputType: 'text', handoffs: [], tracing: false },
};

const tools: Readonly<Record<Protocol, (extra?: Request) => readonly Request[]>> = {
  chat: (extra) => [{ type: 'function', function: { name: 'add', parameters: schema, ...extra } }],
  completions: () => [],
  responses: (extra) => [{ type: 'function', name: 'add', parameters: schema, ...extra }],
  messages: (extra) => [{ name: 'add', input_schema: schema, ...extra }],
  gemini: (extra) => [{ functionDeclarations: [{ name: 'add', parametersJsonSchema: schema }], ...extra }],
  langgraph: (extra) => [{ type: 'function', function: { name: 'add', parameters: schema, ...extra } }],
  aiSdk: (extra) => [{ type: 'function', name: 'add', inputSchema: schema, ...extra }],
  agents: (extra) => [{ type: 'function', name: 'add', description: 'adds', parameters: schema, ...extra }],
};

/** Values for names that have another meaning in one API. */
const ownValues: Readonly<Partial<Record<Protocol, Readonly<Record<string, unknown>>>>> = {
  completions: { prompt: 'hi', logprobs: 3 },
  responses: { input: 'hi' },
  messages: { tool_choice: { type: 'none' } },
  gemini: { contents: smallest.gemini['contents'] },
  aiSdk: { prompt: smallest.aiSdk['prompt'], toolChoice: { type: 'none' }, reasoning: 'high' },
  agents: { input: 'hi' },
};

/** Returns the requests that set one parameter. */
export function toRequests(protocol: Protocol, name: string): readonly Request[] {
  const request = { ...smallest[protocol] };
  const [place = '', types] = name.split('=');
  if (place === 'tools') return [{ ...request, tools: tools[protocol]() }];
  if (place.endsWith('.allowedFunctionNames')) {
    const functionCallingConfig = { mode: 'ANY', allowedFunctionNames: ['add'] };
    return [{ ...request, tools: tools[protocol](), toolConfig: { functionCallingConfig } }];
  }
  if (place.startsWith('tools[].functionDeclarations[].')) {
    const key = place.slice('tools[].functionDeclarations[].'.length);
    return [{ ...request, tools: [{ functionDeclarations: [{ name: 'add', [key]: 'x' }] }] }];
  }
  if (place === 'tools[].type')
    return (types ?? '').split('|').map((type) => ({ ...request, tools: [{ type, id: 'x.y', name: 'n', args: {} }] }));
  if (
    types !== undefined &&
    wishes.some(({ asks, names }) => asks === 'no_thinking' && names[protocol]?.includes(name))
  )
    return [withValue(request, place.split('.'), types)];
  if (place.endsWith('.mode') && types !== undefined) return [withValue(request, place.split('.'), types)];
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
  if (place === 'response_format.schema') return [{ ...request, response_format: { type: 'json_object', schema } }];
  if (place.endsWith('.description')) return [withFormat(request, protocol, { description: 'A sum.' })];
  if (place.endsWith('.strict')) return [withFormat(request, protocol, { strict: true })];
  return [withValue(request, place.split('.'), valueOf(protocol, place))];
}

function withFormat(request: Request, protocol: Protocol, fields: Request): Request {
  const name =
    wishes.flatMap(({ wish, names }) => (wish === 'an answer in JSON' ? (names[protocol] ?? []) : []))[0] ?? '';
  const format = structuredClone(formats[name]) as { json_schema?: Request } & Request;
  Object.assign(format.json_schema ?? format, fields);
  return withValue(request, name.split('.'), format);
}

export function withValue(request: Request, [key = '', ...rest]: readonly string[], value: unknown): Request {
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
  throw new Error(`This test has no value for "${name}" of ${protocol} in this test.`);
}

const paths: Readonly<Partial<Record<Protocol, string>>> = {
  gemini: '/../v1beta/models/',
  chat: '/chat/completions',
  completions: '/completions',
  responses: '/responses',
  messages: '/messages',
};

/** Throws an error with the text of the refusal. */
async function send({ tuner }: ScriptedEpisode, protocol: Protocol, request: Request): Promise<string> {
  const options = { agentName: 'solver' };
  if (protocol === 'langgraph') return toShown(await asLangChainModel(tuner, options).invoke('hi', request));
  if (protocol === 'aiSdk') return toShown(await asAiSdkModel(tuner, options).doGenerate(request as never));
  if (protocol === 'agents') return toShown(await asAgentsModel(tuner, options).getResponse(request as never));
  const { baseUrl, apiKey } = tuner.asOpenAIEndpoint(options);
  const init = { method: 'POST', headers: { 'x-api-key': apiKey }, body: JSON.stringify(request) };
  const call = protocol === 'gemini' ? `${String(request['model'])}:generateContent` : '';
  const response = await fetch(baseUrl + paths[protocol] + call, init);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}

/**
 * Returns nothing for native answers, because they are objects of classes. The requests that the model saw are compared
 * instead.
 */
function toShown(_answer: unknown): string {
  return '';
}

export type Outcome = {
  /** The text of a refusal. */
  readonly refusal: string | undefined;
  readonly ignored: readonly string[];
  readonly calls: CallCounts;
  /** The requests to the model and, over HTTP, the answers to the client. */
  readonly seen: string;
};

/** Sends one request and returns its outcome. */
export async function outcomeOf(
  endpointHost: EndpointServer,
  protocol: Protocol,
  request: Request,
  sendBy = send,
): Promise<Outcome> {
  const requests: ChatRequest[] = [];
  const episode = openScriptedEpisode({
    replies: ['{"sum": 3}'],
    endpointHost,
    wrapModel: () => (model) => ({
      ...model,
      generate: (asked, options) => {
        requests.push(asked);
        return model.generate(asked, options);
      },
    }),
  });
  let answer = '';
  const refusal = await sendBy(episode, protocol, request).then(
    (text) => void (answer = text),
    (error: unknown) => String(error instanceof Error ? error.message : error),
  );
  const { ignoredParameters, calls } = episode.finish();
  const isOverHttp = protocol in paths;
  const asked = requests.map(({ requestId, ignoredParameters: _ignored, ...rest }) =>
    isOverHttp ? rest : { requestId, ...rest },
  );
  return {
    refusal: refusal ?? undefined,
    ignored: Object.keys(ignoredParameters['solver'] ?? {}),
    calls,
    seen: JSON.stringify([
      asked,
      answer.replaceAll(
        /[a-z]*[-_][0-9a-zA-Z-]{8,}|"created(_at)?":[0-9.]+|"(model|modelVersion|responseId|createTime)":"[^"]*"/g,
        '',
      ),
    ]),
  };
}

/** Sends a body as it is, because the SDK itself refuses parameters of Vertex AI. */
async function sendToGemini(client: GoogleGenAI, request: Request): Promise<unknown> {
  const { model, contents, ...extraBody } = request;
  return client.models.generateContent({
    model: String(model),
    contents: contents as never,
    config: { httpOptions: { extraBody } },
  });
}

/** Calls the native client of a protocol instead of HTTP. */
export const sendNative: typeof send = async ({ tuner }, protocol, request) => {
  const named = { agentName: 'solver' };
  if (protocol === 'messages') return toShown(await asAnthropicModel(tuner, named).messages.create(request as never));
  if (protocol === 'gemini') return toShown(await sendToGemini(asGoogleModel(tuner, named), request));
  return toShown(await asOpenAIModel(tuner, named).chat.completions.create(request as never));
};

/** Returns each name of each wish in each API. */
export const rows = wishes.flatMap((wish) =>
  (Object.keys(protocolNames) as Protocol[]).flatMap((protocol) =>
    (wish.names[protocol] ?? []).map((name) => [protocol, name, wish] as const),
  ),
);

/**
 * Parameters that this walk leaves out, because they need an earlier answer or a stream of the framework. The tests of
 * the endpoint and of the adapter cover them.
 */
export const elsewhere = [
  'previous_response_id',
  'input[].item_reference',
  'includeRawChunks',
  'generationConfig.thinkingConfig.includeThoughts',
];

/** Requests with a value that differs from the value in the smallest request. */
const telling: Readonly<Record<string, (protocol: Protocol) => Request>> = {
  model: () => ({ model: 'other' }),
  messages: () => ({ messages: [{ role: 'user', content: 'other' }] }),
  prompt: (protocol) => ({
    prompt: protocol === 'aiSdk' ? [{ role: 'user', content: [{ type: 'text', text: 'other' }] }] : 'other',
  }),
  input: () => ({ input: 'other' }),
  contents: () => ({ contents: [{ role: 'user', parts: [{ text: 'other' }] }] }),
  stream: () => ({ stream: true }),
  stream_options: () => ({ stream: true, stream_options: { include_usage: true } }),
};

/** Returns how the outcome differs from what an entry of the table says, or undefined if it does not. */
export async function findSilence(
  host: EndpointServer,
  [protocol, name, wish]: readonly [Protocol, string, Wish],
): Promise<string | undefined> {
  const visible = telling[name];
  const base = await outcomeOf(host, protocol, smallest[protocol]);
  const isVisible = wish.treatment === 'honoured' && visible !== undefined;
  const requests = isVisible ? [{ ...smallest[protocol], ...visible(protocol) }] : toRequests(protocol, name);
  for (const request of requests) {
    const { refusal, ignored, calls, seen } = await outcomeOf(host, protocol, request);
    if (wish.treatment === 'refused' && refusal?.includes(name) !== true) return `${protocol} ${name} is not refused`;
    if (wish.treatment === 'reported' && (refusal !== undefined || ignored.length !== 1))
      return `${protocol} ${name} is not counted`;
    if (wish.treatment !== 'honoured') continue;
    if (refusal !== undefined || ignored.length > 0 || calls.answered === 0)
      return `${protocol} ${name} is not accepted`;
    const isAlways = protocol === 'langgraph' && name === 'logprobs'; // native answers always have them
    if (wish.isLabel !== true && !isAlways && seen === base.seen) return `${protocol} ${name} has no effect`;
  }
  return undefined;
}
