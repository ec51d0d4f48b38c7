import type { ReplyBuilder } from './reply-builder.js';
import type { ReplySection } from './reply-section.js';

/** Everything is content. */
export function createPlainSection(builder: ReplyBuilder): ReplySection {
  return (text) => {
    builder.content(text);
    return { rest: '' };
  };
}
