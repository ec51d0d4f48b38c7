import { defineTemplateFamily } from '../template-family.js';
import type { ReplyBuilder } from '../../reply/reply-builder.js';
import type { ReplySection } from '../../reply/reply-section.js';

/** The family of templates that no other family recognizes. */
export const none = defineTemplateFamily({
  name: 'none',
  summary: 'no tool calls',
  recognizes: () => false,
  turnEnds: [],
  createAnswer: createPlainSection,
});

/** Treats everything as content. */
export function createPlainSection(builder: ReplyBuilder): ReplySection {
  return (text) => {
    builder.content(text);
    return { rest: '' };
  };
}
