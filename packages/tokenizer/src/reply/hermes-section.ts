import { partialTagLength, splitTrailing } from './hold-back.js';
import { endsInString, readCall, type WrittenCall } from './json-call.js';
import type { ReplyBuilder } from './reply-builder.js';
import type { ReplySection } from './reply-section.js';

const openTag = '<tool_call>';
const closeTag = '</tool_call>';
const argumentKeys = ['arguments', 'parameters'];

/**
 * Answer text with `<tool_call>{"name": ..., "arguments": {...}}</tool_call>` blocks, as Qwen and Hermes write them.
 * One newline before a block is the template's separator; space that stands alone next to a block is dropped; every
 * other character is content. A block that cannot be read stays in the content, character by character, and is counted.
 */
export function createHermesSection(builder: ReplyBuilder): ReplySection {
  return createAnswer(builder, false);
}

/** Text up to the next block; `hadText` says whether text other than space stands between it and the block before. */
function createAnswer(builder: ReplyBuilder, hadText: boolean): ReplySection {
  let hasText = hadText;
  return (text, isLast) => {
    const open = text.indexOf(openTag);
    const held = open !== -1 ? text.length - open : isLast ? 0 : partialTagLength(text, openTag);
    const [certain, space] = splitTrailing(text.slice(0, text.length - held), /\s/);
    builder.content(certain);
    hasText ||= certain !== '';
    if (open !== -1) return { rest: text.slice(open + openTag.length), next: createBlock(builder, hasText, space) };
    if (!isLast) return { rest: space + text.slice(text.length - held) };
    if (hasText || builder.numCalls === 0) builder.content(space);
    return { rest: '' };
  };
}

type Block = { readonly length: number; readonly call?: WrittenCall };

/**
 * The block ends at the first closing tag at which it reads as a call. A closing tag outside of strings ends it in any
 * case; one inside a string may be part of an argument, and ends it only when nothing later does.
 */
function findBlock(text: string, isLast: boolean): Block | undefined {
  let firstClose = -1;
  for (let close = text.indexOf(closeTag); close !== -1; close = text.indexOf(closeTag, close + 1)) {
    const written = text.slice(0, close);
    const length = close + closeTag.length;
    const call = readCall(written, argumentKeys);
    if (call !== undefined) return { length, call };
    if (firstClose === -1) firstClose = length;
    if (!endsInString(written)) return { length: firstClose };
  }
  if (!isLast) return undefined;
  return { length: firstClose === -1 ? text.length : firstClose };
}

function createBlock(builder: ReplyBuilder, hasText: boolean, spaceBefore: string): ReplySection {
  return (text, isLast) => {
    const block = findBlock(text, isLast);
    if (block === undefined) return { rest: text };
    const rest = text.slice(block.length);
    if (block.call !== undefined) {
      if (hasText) builder.content(spaceBefore.replace(/\n$/, ''));
      builder.call(block.call);
      return { rest, next: createAnswer(builder, false) };
    }
    builder.malformed();
    builder.content(spaceBefore + openTag + text.slice(0, block.length));
    return { rest, next: createAnswer(builder, true) };
  };
}
