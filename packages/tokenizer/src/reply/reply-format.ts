import { ConfigError, findNearestKey } from '@agentjet/core';
import type { TemplateFamily } from '../families/template-family.js';
import { templates } from '../registrations.js';

/** Describes how a model writes reasoning and tool calls. */
export type ReplyFormat = {
  readonly toolCalls: TemplateFamily;
  /** `think`: the reply may begin with a <think> block. `open`: the prompt ends inside such a block. */
  readonly reasoning: 'think' | 'open' | 'none';
};

/** The format in which a template prints calls, if no family parses this format. */
export type UnreadForm = {
  /** The beginning of such a call. Empty if it has no tag. */
  readonly mark: string;
  readonly example: string;
};

/** Overrides the detected format. A family is given as an object, or by the name of a registered one. */
export type ReplyFormatOptions = {
  readonly toolCalls?: TemplateFamily | string;
  readonly reasoning?: ReplyFormat['reasoning'];
};

/** Returns the family. Throws ConfigError `unknown_family` if no family has this name. */
function findFamily(given: TemplateFamily | string): TemplateFamily {
  if (typeof given !== 'string') return given;
  const found = templates.find(({ name }) => name === given);
  if (found !== undefined) return found;
  const names = templates.map(({ name }) => name);
  const nearest = findNearestKey(given, names);
  throw new ConfigError(
    'unknown_family',
    `There is no chat-template family "${given}", only ${names.join(', ')}. ${nearest === undefined ? 'Pass your own family as an object.' : `Did you mean "${nearest}"?`}`,
  );
}

/**
 * Returns the first family that recognizes the template. The last registered family treats every reply as plain text.
 */
function detectFamily(template: string): TemplateFamily {
  return templates.find((family) => family.recognizes(template)) ?? templates[templates.length - 1] ?? templates[0];
}

/** Detects the format from the template's text and the end of a rendered generation prompt. */
export function detectReplyFormat(
  template: string,
  generationPrompt: string,
  given: ReplyFormatOptions = {},
): ReplyFormat {
  const lastOpen = generationPrompt.lastIndexOf('<think>');
  const isOpen = lastOpen !== -1 && !generationPrompt.slice(lastOpen).includes('</think>');
  const mentionsThinking = template.includes('<think>') || template.includes('</think>');
  return {
    toolCalls: given.toolCalls === undefined ? detectFamily(template) : findFamily(given.toolCalls),
    reasoning: given.reasoning ?? (isOpen ? 'open' : mentionsThinking ? 'think' : 'none'),
  };
}
