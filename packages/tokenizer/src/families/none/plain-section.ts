import type { ReplyBuilder } from '../../reply/reply-builder.js';
import type { ReplySection } from '../../reply/reply-section.js';

/** Everything is content. */
export function createPlainSection(builder: ReplyBuilder): ReplySection {
  return (text) => {
    builder.content(text);
    return { rest: '' };
  };
}
