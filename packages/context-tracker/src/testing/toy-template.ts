import type { AssistantMessage, ChatMessage, ToolSpec } from '@agentjet/core';
import type { ChatTemplate, ParsedReply, RenderOptions } from '@agentjet/tokenizer';

/**
 * ChatML written by hand. `thinking`: `none` prints no reasoning, `keep` prints all of it, and `strip` prints only
 * reasoning after the last user message, as Qwen3's template does.
 */
export type ToyTemplateOptions = { readonly thinking: 'none' | 'keep' | 'strip'; readonly stopIds: readonly number[] };

export function createToyTemplate({ thinking, stopIds }: ToyTemplateOptions): ChatTemplate {
  return {
    stopIds,
    reasoningTags: thinking === 'none' ? [] : ['<think>', '</think>'],
    textKind: ({ content }) => (/<\/?(?:think|tool_call)|<\|/.test(content) ? 'markup' : 'plain'),
    render: (messages, options) => render(messages, options, thinking),
    parse: (text) => parse(text, thinking !== 'none'),
    createStreamParser: (mintId) => {
      let whole = '';
      return {
        push: (text) => {
          whole += text;
          return [];
        },
        flush: () => {
          const reply = parse(whole, thinking !== 'none');
          const calls = reply.toolCalls.map(
            (call, index) => ({ type: 'tool_call', index, toolCall: { id: mintId(index), ...call } }) as const,
          );
          const texts = [
            { type: 'reasoning', text: reply.reasoning ?? '' } as const,
            { type: 'content', text: reply.content } as const,
          ];
          return { deltas: [...texts.filter(({ text }) => text !== ''), ...calls], reply };
        },
      };
    },
  };
}

function render(
  messages: readonly ChatMessage[],
  { tools = [], addGenerationPrompt }: RenderOptions,
  thinking: ToyTemplateOptions['thinking'],
): string {
  const lastQuestion = messages.findLastIndex(({ role }) => role === 'user');
  const turns = messages.map((message, at) => {
    if (message.role !== 'assistant') return printTurn(message.role, message.content);
    return printTurn(
      'assistant',
      printAnswer(message, thinking === 'keep' || (thinking === 'strip' && at > lastQuestion)),
    );
  });
  return printTools(tools) + turns.join('') + (addGenerationPrompt ? '<|im_start|>assistant\n' : '');
}

function printTurn(role: string, text: string): string {
  return `<|im_start|>${role}\n${text}<|im_end|>\n`;
}

function printTools(tools: readonly ToolSpec[]): string {
  return tools.length === 0 ? '' : printTurn('tools', tools.map((tool) => JSON.stringify(tool)).join('\n'));
}

function printAnswer({ content, reasoning, toolCalls = [] }: AssistantMessage, isThinkingShown: boolean): string {
  const thoughts = isThinkingShown && reasoning !== undefined ? `<think>\n${reasoning}\n</think>\n\n` : '';
  const calls = toolCalls.map(
    (call) => `<tool_call>\n{"name": ${JSON.stringify(call.name)}, "arguments": ${call.arguments}}\n</tool_call>`,
  );
  return thoughts + [...(content === '' ? [] : [content]), ...calls].join('\n');
}

const callBlock = /\n?<tool_call>\n\{"name": ("[^"]*"), "arguments": ([\s\S]*?)\}\n<\/tool_call>/g;

function parse(text: string, isThinkingRead: boolean): ParsedReply {
  const thought = isThinkingRead ? /^<think>\n([\s\S]*?)(?:\n<\/think>\n\n|$)/.exec(text) : null;
  const answer = text.slice(thought?.[0].length ?? 0);
  const toolCalls = [...answer.matchAll(callBlock)].map(([, name = '""', written = '']) => ({
    name: JSON.parse(name) as string,
    arguments: written,
  }));
  const content = answer.replaceAll(callBlock, '');
  const malformedToolCalls = content.split('<tool_call>').length - 1;
  return { content, ...(thought === null ? {} : { reasoning: thought[1] ?? '' }), toolCalls, malformedToolCalls };
}
