import type { PreparedPrompt, PromptTools } from './prepare-prompt.js';

/**
 * Appends the beginning of the answer to the prompt. The same messages with an opening and without one are different
 * prompts.
 */
export function withOpening(
  prompt: PreparedPrompt,
  opening: string,
  { tree, tokenizer }: Pick<PromptTools, 'tree' | 'tokenizer'>,
): PreparedPrompt {
  if (opening === '') return prompt;
  const added = tokenizer.encode(opening);
  const ids = new Int32Array(prompt.ids.length + added.length);
  ids.set(prompt.ids);
  ids.set(added, prompt.ids.length);
  const { depth } = prompt.from;
  const reusedTokens = depth + tree.match(prompt.from, ids.subarray(depth));
  return {
    ...prompt,
    ids,
    reusedTokens,
    numNew: prompt.numNew + added.length,
    existing: undefined,
    text: prompt.text + opening,
    opening,
    numOpening: added.length,
  };
}
