import { type ChatTokenizer, createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';

/**
 * Chat templates that behave like those of strict or odd model families. They use ChatML's tokens, so that the
 * tokenizers of `@agentjet/tokenizer/testing` fit. They are for tests, not for models of those families.
 */
export const strictFamilies = ['mistral', 'gemma', 'deepseek', 'hermes', 'smollm'] as const;
type StrictFamily = (typeof strictFamilies)[number];

const header = (role: string): string => `'<|im_start|>' + ${role} + '\\n'`;
const prompt = `{% if add_generation_prompt %}{{ ${header("'assistant'")} }}{% endif %}`;
const printCall = `'<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' + call.function.arguments + '}\\n</tool_call>'`;
const printCalls = `{% for call in message.tool_calls or [] %}{{ ('\\n' if message.content or not loop.first else '') + ${printCall} }}{% endfor %}`;

/**
 * Questions and answers must alternate; calls and results do not count. Tools and the system message are printed before
 * the last question.
 */
const mistral = `{% set system = messages[0].content if messages[0].role == 'system' else none %}{% set turns = messages[1:] if system is not none else messages %}
{%- set state = namespace(count=0, last=-1) %}
{%- for message in turns %}
    {%- if message.role == 'user' %}{% set state.last = loop.index0 %}{% endif %}
    {%- if message.role != 'tool' and not message.tool_calls %}
        {%- if (message.role == 'user') != (state.count % 2 == 0) %}{{ raise_exception('questions and answers must take turns') }}{% endif %}
        {%- set state.count = state.count + 1 %}
    {%- endif %}
{%- endfor %}
{%- for message in turns %}
    {%- if message.role == 'user' %}
        {%- if loop.index0 == state.last and tools %}{{ '[TOOLS]' + (tools | tojson) + '[/TOOLS]' }}{% endif %}
        {{- '[INST] ' + (system + '\\n\\n' if loop.index0 == state.last and system is not none else '') + message.content + '[/INST]' }}
    {%- elif message.role == 'tool' %}{{ '[RESULT]' + message.content + '[/RESULT]' }}
    {%- else %}{{ message.content }}${printCalls}{{ '<|im_end|>' }}{% endif %}
{%- endfor %}`;

/** Refuses system messages and tools, requires strict turns, and trims all text. */
const gemma = `{% for message in messages %}
    {%- if (message.role == 'user') != (loop.index0 % 2 == 0) or message.role not in ['user', 'assistant'] %}{{ raise_exception('questions and answers must take turns') }}{% endif %}
    {{- ${header('message.role')} + message.content | trim + '<|im_end|>\\n' }}
{%- endfor %}${prompt}`;

/**
 * All system messages come first. Results are joined. The header of an answer after results differs from that of other
 * answers. Thinking in the text is left out.
 */
const deepseek = `{% for message in messages %}{% if message.role == 'system' %}{{ message.content + '\\n\\n' }}{% endif %}{% endfor %}
{%- set state = namespace(after_result=false) %}
{%- for message in messages %}
    {%- if message.role == 'user' %}{% set state.after_result = false %}{{ '<|User|>' + message.content }}
    {%- elif message.role == 'tool' %}{{ ('' if state.after_result else '<|Results|>') + '<|Result|>' + message.content }}{% set state.after_result = true %}
    {%- elif message.role == 'assistant' %}
        {{- '<|Answer|>' if state.after_result else '<|Assistant|>' }}{{ message.content.split('</think>')[-1] }}${printCalls}{{ '<|im_end|>' }}{% set state.after_result = false %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|Answer|>' if state.after_result else '<|Assistant|>' }}{% endif %}`;

/** Results in a row share a turn. A result that is the last message ends differently from other results. */
const hermes = `{% for message in messages %}
    {%- if message.role == 'tool' %}
        {%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{ ${header("'tool'")} }}{% endif %}
        {{- '<tool_response>\\n' + message.content + '\\n</tool_response>' }}{{ '' if loop.last else '\\n' }}
        {%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{ '<|im_end|>\\n' }}{% endif %}
    {%- else %}{{ ${header('message.role')} + message.content }}${printCalls}{{ '<|im_end|>\\n' }}{% endif %}
{%- endfor %}${prompt}`;

/** The text of the system message decides how each answer begins. */
const smollm = `{% set opening = '<think>\\n\\n</think>\\n' if messages[0].role == 'system' and 'th' in messages[0].content else '' %}
{%- for message in messages %}{{ ${header('message.role')} }}{{ opening if message.role == 'assistant' else '' }}{{ message.content }}${printCalls}{{ '<|im_end|>\\n' }}{% endfor %}
{%- if add_generation_prompt %}{{ ${header("'assistant'")} + opening }}{% endif %}`;

const templates: Readonly<Record<StrictFamily, string>> = { mistral, gemma, deepseek, hermes, smollm };

export function createStrictChatTokenizer(family: StrictFamily): ChatTokenizer {
  return createChatTokenizer({
    ...createChatTokenizerFiles('chatml'),
    chatTemplate: templates[family],
    replyFormat: { toolCalls: 'hermes', reasoning: 'none' },
  });
}
