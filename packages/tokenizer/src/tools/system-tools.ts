/**
 * Adds a head to a chat template that does not support tools. The head writes the tools into the system prompt, and
 * calls and results into text, in the format of Hermes. The template then prints plain messages. The head is Jinja too,
 * so that other servers, which read the template from the model's folder, show the same prompt to the model.
 */

export type SystemToolsOptions = {
  /**
   * The message that gets the tools: the system message, or the first question if the template prints no system
   * message.
   */
  readonly place: 'system' | 'question';
  /** The system prompt that the template prints if the conversation has none. It stays, before the tools. */
  readonly defaultSystem: string;
  /**
   * Whether the template itself prints calls and results. If it does, the head changes calls and results only in
   * requests with tools.
   */
  readonly printsCalls: boolean;
};

const mark = '{#- ajet: tools are written into the system prompt -#}';

/** Returns whether a template already has the head. Templates of checkpoints and exports may have it. */
export function hasSystemTools(source: string): boolean {
  return source.includes(mark);
}

const before = `# Tools

You can call the functions below. Each line holds one of them, as JSON:
<tools>`;

const after = `
</tools>

To call a function, write its name and its arguments as one JSON object between these tags. Write one such block for each call:
<tool_call>
{"name": "the function", "arguments": {"an argument": "its value"}}
</tool_call>`;

/** Returns the template with the head in front of it. */
export function withSystemTools(source: string, { place, defaultSystem, printsCalls }: SystemToolsOptions): string {
  const lines = [
    mark,
    `{%- set ajet = namespace(messages=[], tools='', results='', is_shown=false) -%}`,
    `{%- if tools -%}`,
    `{%- set ajet.tools = ${toLiteral(before)} -%}`,
    `{%- for tool in tools -%}{%- set ajet.tools = ajet.tools + '\\n' + (tool | tojson) -%}{%- endfor -%}`,
    `{%- set ajet.tools = ajet.tools + ${toLiteral(after)} -%}`,
    ...(place === 'system' ? [newSystem(defaultSystem)] : []),
    ...(printsCalls ? [] : [`{%- endif -%}`]),
    `{%- for message in messages -%}`,
    `{%- if message.role == 'tool' -%}`,
    ...results,
    `{%- elif message.role == 'assistant' and message.tool_calls -%}`,
    ...calls,
    `{%- elif tools and not ajet.is_shown and message.role == '${place === 'system' ? 'system' : 'user'}' -%}`,
    `{%- set ajet.is_shown = true -%}`,
    place === 'system'
      ? `{%- set ajet.messages = ajet.messages + [{'role': 'system', 'content': message.content + '\\n\\n' + ajet.tools}] -%}`
      : `{%- set ajet.messages = ajet.messages + [{'role': 'user', 'content': ajet.tools + '\\n\\n' + message.content}] -%}`,
    `{%- else -%}`,
    `{%- set ajet.messages = ajet.messages + [message] -%}`,
    `{%- endif -%}`,
    `{%- endfor -%}`,
    `{%- set messages = ajet.messages -%}`,
    `{%- set tools = none -%}`,
    ...(printsCalls ? [`{%- endif -%}`] : []),
    `{%- set ajet = none %}`,
  ];
  return `${lines.join('')}\n${source}`;
}

/** Adds a system message that contains only the tools to a conversation that begins without a system message. */
function newSystem(defaultSystem: string): string {
  const content = defaultSystem === '' ? 'ajet.tools' : `${toLiteral(`${defaultSystem}\n\n`)} + ajet.tools`;
  return (
    `{%- if messages[0].role != 'system' -%}` +
    `{%- set ajet.messages = [{'role': 'system', 'content': ${content}}] -%}{%- set ajet.is_shown = true -%}{%- endif -%}`
  );
}

/** Puts consecutive results into one user message. */
const results = [
  `{%- set ajet.results = ajet.results + ('\\n' if ajet.results else '') + '<tool_response>\\n' + (message.content or '') + '\\n</tool_response>' -%}`,
  `{%- if loop.last or messages[loop.index0 + 1].role != 'tool' -%}`,
  `{%- set ajet.messages = ajet.messages + [{'role': 'user', 'content': ajet.results}] -%}`,
  `{%- set ajet.results = '' -%}`,
  `{%- endif -%}`,
];

const calls = [
  `{%- set answer = namespace(text=message.content or '') -%}`,
  `{%- for tool_call in message.tool_calls -%}`,
  `{%- set call = tool_call.function if tool_call.function is defined else tool_call -%}`,
  `{%- set written = call.arguments if call.arguments is string else (call.arguments | tojson) -%}`,
  `{%- set answer.text = answer.text + ('\\n' if answer.text else '') + '<tool_call>\\n{"name": ' + (call.name | tojson) + ', "arguments": ' + written + '}\\n</tool_call>' -%}`,
  `{%- endfor -%}`,
  `{%- if message.reasoning_content is defined -%}`,
  `{%- set ajet.messages = ajet.messages + [{'role': 'assistant', 'content': answer.text, 'reasoning_content': message.reasoning_content}] -%}`,
  `{%- else -%}`,
  `{%- set ajet.messages = ajet.messages + [{'role': 'assistant', 'content': answer.text}] -%}`,
  `{%- endif -%}`,
];

/** Writes a string as a Jinja literal, which has the same form in JSON. */
const toLiteral = (text: string): string => JSON.stringify(text);
