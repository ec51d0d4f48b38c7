import type { ToolSpec } from '@agentjet/core';
import type { ParsedReply, ReplyStreamParser } from '../contract.js';
import { createReasoningSection, createReplyStart } from './reasoning-section.js';
import { createReplyBuilder, type ReplyBuilder } from './reply-builder.js';
import type { ReplyFormat, UnreadForm } from './reply-format.js';
import type { ReplySection } from './reply-section.js';
import { createUntaggedSection, readUntaggedCalls, triesToCall } from './untagged-calls.js';

/** The facts about a request that decide how tool calls in its reply are parsed. */
export type ReplyReading = {
  readonly tools?: readonly ToolSpec[];
  /** Whether an answer that consists only of calls to these tools is parsed without tags. */
  readonly isLenient?: boolean;
  /** The form in which the template writes calls, if no family parses it. Such calls are counted. */
  readonly unread?: UnreadForm | undefined;
};

function createFirstSection(
  builder: ReplyBuilder,
  format: ReplyFormat,
  { tools = [], isLenient = false }: ReplyReading,
): ReplySection {
  const createTagged = (): ReplySection => format.toolCalls.createAnswer(builder, { tools });
  const createAnswer = isLenient ? () => createUntaggedSection(builder, tools, createTagged) : createTagged;
  if (format.reasoning === 'open') return createReasoningSection(builder, createAnswer);
  return format.reasoning === 'think' ? createReplyStart(builder, createAnswer) : createAnswer();
}

/** Returns the reply with the number of calls that were not parsed. */
function countUnread(reply: ParsedReply, { tools = [], unread }: ReplyReading): ParsedReply {
  if (tools.length === 0 || reply.toolCalls.length > 0 || reply.malformedToolCalls > 0) return reply;
  const { mark = '' } = unread ?? {};
  if (mark !== '' && reply.content.includes(mark)) return { ...reply, malformedToolCalls: 1 };
  const untagged = readUntaggedCalls(reply.content, tools)?.length ?? 0;
  if (untagged > 0) return { ...reply, untaggedToolCalls: untagged };
  return triesToCall(reply.content, tools) ? { ...reply, malformedToolCalls: 1 } : reply;
}

export function createReplyStreamParser(
  format: ReplyFormat,
  mintId: (index: number) => string,
  reading: ReplyReading = {},
): ReplyStreamParser {
  const builder = createReplyBuilder(mintId);
  let section = createFirstSection(builder, format, reading);
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
      return { deltas: builder.take(), reply: countUnread(builder.build(), reading) };
    },
  };
}

/** Parses a whole reply with the stream parser. */
export function parseReply(format: ReplyFormat, text: string, reading: ReplyReading = {}): ParsedReply {
  const parser = createReplyStreamParser(format, String, reading);
  parser.push(text);
  return parser.flush().reply;
}
