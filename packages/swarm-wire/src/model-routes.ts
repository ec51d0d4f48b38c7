import { wishes, type Protocol } from '@agentjet/core/parameters';

/**
 * A route of model calls. The routes use the protocols of OpenAI, Anthropic and Google, under the `base_url` of a claimed
 * episode. Their parameters come from the same table as the parameters of the endpoint.
 */
export type CallRoute = {
  readonly method: 'get' | 'post';
  /** The path below `/e/{episode}/{agent}` or `/e/{episode}`. */
  readonly path: string;
  readonly summary: string;
  /** Undefined if there is no body. */
  readonly protocol?: Protocol;
  readonly required?: readonly string[];
};

export const modelRoutes: readonly CallRoute[] = [
  {
    method: 'post',
    path: '/v1/chat/completions',
    summary: "Answers a conversation, as OpenAI's Chat Completions does; with stream, as server-sent events",
    protocol: 'chat',
    required: ['messages'],
  },
  {
    method: 'post',
    path: '/v1/chat/completions/count_tokens',
    summary: 'Counts the tokens that the prompt of a chat completion has',
    protocol: 'chat',
    required: ['messages'],
  },
  {
    method: 'post',
    path: '/v1/completions',
    summary: "Continues a prompt, as OpenAI's Completions does",
    protocol: 'completions',
    required: ['prompt'],
  },
  {
    method: 'post',
    path: '/v1/responses',
    summary: "Answers a conversation, as OpenAI's Responses does",
    protocol: 'responses',
    required: ['input'],
  },
  {
    method: 'post',
    path: '/v1/messages',
    summary: "Answers a conversation, as Anthropic's Messages does",
    protocol: 'messages',
    required: ['messages', 'max_tokens'],
  },
  {
    method: 'post',
    path: '/v1/messages/count_tokens',
    summary: "Counts the tokens of a request, as Anthropic's count_tokens does",
    protocol: 'messages',
    required: ['messages'],
  },
  ...['generateContent', 'streamGenerateContent', 'countTokens'].map(
    (method): CallRoute => ({
      method: 'post',
      path: `/v1beta/models/{model}:${method}`,
      summary: `Does what ${method} of Gemini's API does`,
      protocol: 'gemini',
      required: ['contents'],
    }),
  ),
  { method: 'get', path: '/v1beta/models', summary: "Lists the model, as Gemini's API does" },
  { method: 'get', path: '/v1beta/models/{model}', summary: "Shows the model, as Gemini's API does" },
  { method: 'get', path: '/v1/models', summary: 'Lists the model' },
  { method: 'get', path: '/v1/models/{model}', summary: 'Shows the model' },
];

type JsonSchema = Readonly<Record<string, unknown>>;

/** Describes the accepted parameters of a protocol, by the names of their fields at the top of the body. */
export function parametersOf(protocol: Protocol): Readonly<Record<string, JsonSchema>> {
  const found: Record<string, JsonSchema> = {};
  for (const { wish, note, treatment, names } of wishes) {
    if (treatment === 'refused') continue;
    const effect = treatment === 'reported' ? ' It has no effect, and is reported.' : '';
    const said = note === undefined ? wish : `${wish}: ${note}`;
    const description = `${said[0]?.toUpperCase() ?? ''}${said.slice(1)}.${effect}`;
    for (const name of names[protocol] ?? []) {
      const top = /^[a-zA-Z_]+/.exec(name)?.[0] ?? name;
      if (top === name || found[top] === undefined) found[top] = { description };
    }
  }
  return found;
}
