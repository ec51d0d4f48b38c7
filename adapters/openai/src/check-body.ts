import { type Check, fieldOf, flag, is, listOf, object, oneOf, optional, ParameterError, shape, text, wholeNumber } from './checks.js';

/** Runs the check of the value's type where there is one; other types are refused where they are read. */
function byType(checks: Readonly<Record<string, Check>>): Check {
  return (value, path) => {
    shape({ type: text })(value, path);
    checks[String(fieldOf(value, 'type'))]?.(value, path);
  };
}

const content: Check = (value, path) => {
  if (typeof value !== 'string') is('a text or a list of parts', Array.isArray)(value, path);
  if (Array.isArray(value)) listOf(byType({ text: shape({ text }) }))(value, path);
};

const toolCall = byType({ function: shape({ id: text, function: shape({ name: text, arguments: text }) }) });

const messages: Readonly<Record<string, Check>> = {
  system: shape({ content }),
  developer: shape({ content }),
  user: shape({ content }),
  tool: shape({ content, tool_call_id: text }),
  assistant: shape({ content: optional(content), tool_calls: optional(listOf(toolCall)) }),
};

const message: Check = (value, path) => {
  shape({ role: text })(value, path);
  messages[String(fieldOf(value, 'role'))]?.(value, path);
};

const tool = byType({ function: shape({ function: shape({ name: text, description: optional(text), parameters: optional(object) }) }) });

const toolChoice: Check = (value, path) => {
  if (typeof value === 'string') oneOf('auto', 'none', 'required')(value, path);
  else byType({ function: shape({ function: shape({ name: text }) }) })(value, path);
};

const responseFormat: Check = (value, path) => {
  shape({ type: oneOf('text', 'json_object', 'json_schema') })(value, path);
  if (fieldOf(value, 'type') === 'json_schema') shape({ json_schema: shape({ name: text, schema: optional(object) }) })(value, path);
};

const stopText = is('a text that is not empty', (value) => typeof value === 'string' && value !== '');
const stop: Check = (value, path) => (Array.isArray(value) ? listOf(stopText) : stopText)(value, path);

/** What is honoured, in its order on the API's page, and labels that change no token. */
const known: Readonly<Record<string, Check>> = {
  messages: listOf(message),
  tools: optional(listOf(tool)),
  tool_choice: optional(toolChoice),
  parallel_tool_calls: optional(flag),
  response_format: optional(responseFormat),
  temperature: optional(is('a number from 0', (value) => typeof value === 'number' && value >= 0)),
  top_p: optional(is('a number in (0, 1]', (value) => typeof value === 'number' && value > 0 && value <= 1)),
  top_k: optional(wholeNumber(-1)),
  max_tokens: optional(wholeNumber(1)),
  max_completion_tokens: optional(wholeNumber(1)),
  stop: optional(stop),
  seed: optional(wholeNumber(-Infinity)),
  n: optional(wholeNumber(1, 128)),
  logprobs: optional(flag),
  stream: optional(flag),
  stream_options: optional(object),
};
const labels = new Set(['model', 'user', 'metadata', 'store', 'service_tier', 'safety_identifier', 'prompt_cache_key']);

/** Parameters that are accepted at the value that changes nothing. */
const neutral: Readonly<Record<string, unknown>> = { frequency_penalty: 0, presence_penalty: 0, top_logprobs: 0, logit_bias: {}, modalities: ['text'] };

/** Throws ParameterError for what is missing, of another form, or cannot be honoured. */
export function checkBody(body: unknown): void {
  object(body, 'body');
  for (const [name, value] of Object.entries(body as object)) {
    const isFine = Object.hasOwn(known, name) || labels.has(name) || value === null || JSON.stringify(value) === JSON.stringify(neutral[name]);
    if (!isFine) throw new ParameterError(name, `Parameter '${name}' is not supported by this model. Leave it out: what is sampled is trained, so nothing is ignored in silence.`);
  }
  shape(known)(body, '');
}
