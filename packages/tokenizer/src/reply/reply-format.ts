/** How a model family writes what is not answer text. */
export type ReplyFormat = {
  readonly toolCalls: 'hermes' | 'llama3' | 'none';
  /** `think`: the reply may begin with a <think> block; `open`: the prompt ends inside one already. */
  readonly reasoning: 'think' | 'open' | 'none';
};

function detectToolCalls(template: string): ReplyFormat['toolCalls'] {
  if (template.includes('<tool_call>')) return 'hermes';
  if (template.includes('<|start_header_id|>') || template.includes('<|python_tag|>')) return 'llama3';
  return 'none';
}

/** Reads the format off the template's text and the end of a rendered generation prompt. */
export function detectReplyFormat(template: string, generationPrompt: string): ReplyFormat {
  const lastOpen = generationPrompt.lastIndexOf('<think>');
  const isOpen = lastOpen !== -1 && !generationPrompt.slice(lastOpen).includes('</think>');
  const mentionsThinking = template.includes('<think>') || template.includes('</think>');
  return { toolCalls: detectToolCalls(template), reasoning: isOpen ? 'open' : mentionsThinking ? 'think' : 'none' };
}
