import { isMoreThanNewlines, isMoreThanSpace, partialTagLength, splitTrailing } from './hold-back.js';
import type { ReplyBuilder } from './reply-builder.js';
import type { ReplySection } from './reply-section.js';

const openTag = '<think>';
const closeTag = '</think>';
export const reasoningTags: readonly string[] = [openTag, closeTag];

/** Looks for a thinking block, which can only be at the beginning of a reply. */
export function createReplyStart(builder: ReplyBuilder, next: () => ReplySection): ReplySection {
  return (text, isLast) => {
    const trimmed = text.trimStart();
    if (trimmed.startsWith(openTag))
      return { rest: trimmed.slice(openTag.length), next: createReasoningSection(builder, next) };
    if (!isLast && openTag.startsWith(trimmed))
      return { rest: text, ...(trimmed === '' ? { isAwaited: isMoreThanSpace } : {}) };
    return { rest: text, next: next() };
  };
}

/** Reads the text of a thinking block. The newlines next to its tags belong to the template. */
export function createReasoningSection(builder: ReplyBuilder, next: () => ReplySection): ReplySection {
  let hasText = false;
  const emit = (text: string): void => {
    const piece = hasText ? text : text.replace(/^\n+/, '');
    if (piece !== '') hasText = true;
    builder.reasoning(piece);
  };
  return (text, isLast) => {
    const close = text.indexOf(closeTag);
    if (close !== -1) {
      emit(splitTrailing(text.slice(0, close), /\n/)[0]);
      return { rest: text.slice(close + closeTag.length), next: createLeadingNewlines(next) };
    }
    const held = isLast ? 0 : partialTagLength(text, closeTag);
    const [certain, newlines] = splitTrailing(text.slice(0, text.length - held), /\n/);
    emit(certain);
    if (isLast) return { rest: '' };
    return held > 0
      ? { rest: newlines + text.slice(text.length - held) }
      : { rest: newlines, isAwaited: isMoreThanNewlines };
  };
}

/** Drops the newlines between a thinking block and the answer. */
function createLeadingNewlines(next: () => ReplySection): ReplySection {
  return (text, isLast) => {
    const rest = text.replace(/^\n+/, '');
    return rest === '' && !isLast ? { rest } : { rest, next: next() };
  };
}
