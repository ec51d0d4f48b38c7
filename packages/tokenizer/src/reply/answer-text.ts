import type { ChatDelta } from '@agentjet/core';
import type { AnswerText } from '../contract.js';
import { none } from '../families/none/registration.js';
import type { ReplyFormat } from './reply-format.js';
import { createReplyStreamParser } from './reply-stream-parser.js';

/** Parses a reply whose calls are treated as text, so that everything except thinking is content. */
export function createAnswerText(format: ReplyFormat): AnswerText {
  const parser = createReplyStreamParser({ ...format, toolCalls: none }, String);
  return { push: (text) => contentOf(parser.push(text)), flush: () => contentOf(parser.flush().deltas) };
}

function contentOf(deltas: readonly ChatDelta[]): string {
  return deltas.map((delta) => (delta.type === 'content' ? delta.text : '')).join('');
}
