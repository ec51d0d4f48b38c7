import type { ParsedReply, ReplyStreamParser } from '../contract.js';
import { createReasoningSection, createReplyStart } from './reasoning-section.js';
import { createReplyBuilder, type ReplyBuilder } from './reply-builder.js';
import type { ReplyFormat } from './reply-format.js';
import type { ReplySection } from './reply-section.js';

function createFirstSection(builder: ReplyBuilder, format: ReplyFormat): ReplySection {
  const createAnswer = (): ReplySection => format.toolCalls.createAnswer(builder);
  if (format.reasoning === 'open') return createReasoningSection(builder, createAnswer);
  return format.reasoning === 'think' ? createReplyStart(builder, createAnswer) : createAnswer();
}

export function createReplyStreamParser(format: ReplyFormat, mintId: (index: number) => string): ReplyStreamParser {
  const builder = createReplyBuilder(mintId);
  let section = createFirstSection(builder, format);
  let undecided = '';
  let isAwaited: ((added: string) => boolean) | undefined;
  const advance = (isLast: boolean): void => {
    for (;;) {
      const step = section(undecided, isLast);
      undecided = step.rest;
      isAwaited = step.isAwaited;
      if (step.next === undefined) return;
      section = step.next;
    }
  };
  return {
    push(text) {
      undecided += text;
      if (isAwaited?.(text) ?? true) advance(false);
      return builder.take();
    },
    flush() {
      advance(true);
      return { deltas: builder.take(), reply: builder.build() };
    },
  };
}

/** Reads a whole reply: the stream parser fed at once. */
export function parseReply(format: ReplyFormat, text: string): ParsedReply {
  const parser = createReplyStreamParser(format, String);
  parser.push(text);
  return parser.flush().reply;
}
