import { defineTemplateFamily } from '../template-family.js';
import { isMoreThanSpace, partialTagLength, splitTrailing } from '../../reply/hold-back.js';
import { createJsonScanner, readCall, type WrittenCall } from '../../reply/json-call.js';
import type { ReplyBuilder } from '../../reply/reply-builder.js';
import type { ReplySection } from '../../reply/reply-section.js';

export const hermes = defineTemplateFamily({
  name: 'hermes',
  summary: 'Qwen, Hermes',
  // This excludes Qwen3-Coder's calls, which have the same tags around XML.
  recognizes: (source) => source.includes('<tool_call>') && !source.includes('<parameter='),
  turnEnds: ['<|im_end|>'],
  createAnswer: createHermesSection,
  callForm: { open: '<tool_call>\n', argumentsKey: 'arguments' },
});

const openTag = '<tool_call>';
const closeTag = '</tool_call>';
const argumentKeys = ['arguments', 'parameters'];

/**
 * Parses answer text with `<tool_call>{"name": ..., "arguments": {...}}</tool_call>` blocks, as Qwen and Hermes write
 * them. One newline before a block is the template's separator and is dropped. Text before, between or after blocks is
 * also dropped if it is only whitespace. Every other character is content. A block that cannot be parsed stays in the
 * content, character by character, and is counted.
 */
function createHermesSection(builder: ReplyBuilder): ReplySection {
  return createTaggedAnswer(builder, createBlock, false);
}

/** Reads a block after its opening tag. */
export type BlockSection = (
  builder: ReplyBuilder,
  before: { readonly hasText: boolean; readonly space: string },
) => ReplySection;

/** Parses text up to the next block. `hadText` says whether text other than whitespace came before. */
export function createTaggedAnswer(builder: ReplyBuilder, block: BlockSection, hadText: boolean): ReplySection {
  let hasText = hadText;
  return (text, isLast) => {
    const open = text.indexOf(openTag);
    const held = open !== -1 ? text.length - open : isLast ? 0 : partialTagLength(text, openTag);
    const [certain, space] = splitTrailing(text.slice(0, text.length - held), /\s/);
    builder.content(certain);
    hasText ||= certain !== '';
    if (open !== -1) return { rest: text.slice(open + openTag.length), next: block(builder, { hasText, space }) };
    if (!isLast)
      return held > 0 ? { rest: space + text.slice(text.length - held) } : { rest: space, isAwaited: isMoreThanSpace };
    if (hasText || builder.numCalls === 0) builder.content(space);
    return { rest: '' };
  };
}

/**
 * Positions right after closing tags, at which a block may end. `first` is after the first closing tag, `outside` after
 * the first one outside of strings. -1: there is none yet.
 */
type BlockEnds = { readonly first: number; readonly outside: number };

/** Reads a block piece by piece, each piece once. */
function createBlockReader(): (added: string) => BlockEnds {
  const scanner = createJsonScanner();
  let ends: BlockEnds = { first: -1, outside: -1 };
  let length = 0;
  let numMatched = 0;
  let isTagInString = false;
  return (added) => {
    for (const character of added) {
      if (ends.outside !== -1) break;
      length += character.length;
      if (character === closeTag.charAt(0)) isTagInString = scanner.isInString;
      numMatched =
        character === closeTag.charAt(numMatched) ? numMatched + 1 : Number(character === closeTag.charAt(0));
      if (numMatched === closeTag.length) {
        ends = { first: ends.first === -1 ? length : ends.first, outside: isTagInString ? -1 : length };
        numMatched = 0;
      }
      scanner.step(character);
    }
    return ends;
  };
}

type Block = { readonly length: number; readonly call?: WrittenCall };

/**
 * Finds the end of a block. A closing tag outside of strings ends the block if the text before it is a valid call.
 * Otherwise the block ends at the first closing tag. A closing tag inside a string may be part of an argument. It ends
 * the block only if no closing tag outside of strings does.
 */
function readBlock(text: string, { first, outside }: BlockEnds): Block {
  if (outside === -1) return { length: first === -1 ? text.length : first };
  const call = readCall(text.slice(0, outside - closeTag.length), argumentKeys);
  return call === undefined ? { length: first } : { length: outside, call };
}

const createBlock: BlockSection = (builder, before) => {
  const read = createBlockReader();
  let numRead = 0;
  const readOn = (added: string): BlockEnds => {
    numRead += added.length;
    return read(added);
  };
  return (text, isLast) => {
    const ends = readOn(text.slice(numRead));
    if (ends.outside === -1 && !isLast) return { rest: text, isAwaited: (added) => readOn(added).outside !== -1 };
    const block = readBlock(text, ends);
    const rest = text.slice(block.length);
    return {
      rest,
      next: endBlock(builder, createBlock, { ...before, text: text.slice(0, block.length), call: block.call }),
    };
  };
};

type ReadBlock = Parameters<BlockSection>[1] & { readonly text: string; readonly call: WrittenCall | undefined };

/**
 * Adds the call of a block. If the block is not a call, its text becomes content and is counted as malformed. The
 * answer continues after it.
 */
export function endBlock(
  builder: ReplyBuilder,
  block: BlockSection,
  { hasText, space, text, call }: ReadBlock,
): ReplySection {
  if (call === undefined) {
    builder.malformed();
    builder.content(space + openTag + text);
  } else {
    if (hasText) builder.content(space.replace(/\n$/, ''));
    builder.call(call);
  }
  return createTaggedAnswer(builder, block, call === undefined);
}
