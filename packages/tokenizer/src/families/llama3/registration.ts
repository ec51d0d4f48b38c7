import { defineTemplateFamily } from '../template-family.js';
import { isMoreThanSpace } from '../../reply/hold-back.js';
import { createJsonScanner, findObjectEnd, readCall } from '../../reply/json-call.js';
import { createPlainSection } from '../none/registration.js';
import type { ReplyBuilder } from '../../reply/reply-builder.js';
import type { ReplySection } from '../../reply/reply-section.js';

export const llama3 = defineTemplateFamily({
  name: 'llama3',
  recognizes: (source) => source.includes('<|start_header_id|>') || source.includes('<|python_tag|>'),
  turnEnds: ['<|eot_id|>', '<|eom_id|>'],
  createAnswer: createLlama3Section,
  writeCalls: (calls) =>
    calls.map(({ name, arguments: text }) => `{"name": ${JSON.stringify(name)}, "parameters": ${text}}`).join('; '),
  callForm: { open: '', argumentsKey: 'parameters' },
});

const pythonTag = '<|python_tag|>';
const argumentKeys = ['parameters', 'arguments'];

/**
 * Parses a reply that consists of JSON calls, `{"name": ..., "parameters": {...}}`, with `;` between them, with or
 * without `<|python_tag|>` before the first. Any other text is content. If it follows the tag, it also counts as a
 * malformed call; this includes code and `name.call(...)`.
 */
function createLlama3Section(builder: ReplyBuilder): ReplySection {
  return (text, isLast) => {
    const trimmed = text.trimStart();
    const isTagged = trimmed.startsWith(pythonTag);
    if (!isLast && !isTagged && pythonTag.startsWith(trimmed))
      return { rest: text, ...(trimmed === '' ? { isAwaited: isMoreThanSpace } : {}) };
    return readCallAt(builder, text, { isTagged, isLast });
  };
}

type Position = { readonly isTagged: boolean; readonly isLast: boolean };

function readCallAt(builder: ReplyBuilder, text: string, { isTagged, isLast }: Position): ReturnType<ReplySection> {
  const written = isTagged ? text.trimStart().slice(pythonTag.length).trimStart() : text.trimStart();
  if (written === '' && !isLast) return { rest: text, isAwaited: isMoreThanSpace };
  const end = written.startsWith('{') ? findObjectEnd(written, 0) : -1;
  const mayComplete = written.startsWith('{') && end === -1 && !isLast && (isTagged || mayBeCall(written));
  if (mayComplete)
    return { rest: text, isAwaited: isTagged || hasFirstKey(written) ? awaitObjectEnd(written) : isMoreThanSpace };
  const call = end === -1 ? undefined : readCall(written.slice(0, end), argumentKeys);
  if (call !== undefined) {
    builder.call(call);
    return { rest: written.slice(end), next: createSeparator(builder) };
  }
  if (isTagged || looksLikeCall(end === -1 ? written : written.slice(0, end))) builder.malformed();
  return { rest: text, next: createPlainSection(builder) };
}

/** Returns whether the first key of an object is complete, so that the result of `mayBeCall` is final. */
function hasFirstKey(written: string): boolean {
  const [beginning = '', , close] = firstKey.exec(written) ?? [];
  return close === '"' || beginning.length < written.length;
}

/**
 * Returns a function that takes the pieces after an open object and returns whether a piece closes it. Each piece is
 * read once.
 */
function awaitObjectEnd(written: string): (added: string) => boolean {
  const scanner = createJsonScanner();
  const closes = (text: string): boolean => {
    for (const character of text) {
      scanner.step(character);
      if (scanner.depth === 0) return true;
    }
    return false;
  };
  closes(written);
  return closes;
}

const firstKey = /^\{\s*"?(\w*)("?)/;

/** Returns whether an object that is still open could be a call: its first key is one with which calls begin. */
function mayBeCall(written: string): boolean {
  const [, key, close] = firstKey.exec(written) ?? [];
  if (key === undefined) return false;
  return ['name', 'type', 'parameters', 'arguments'].some((known) =>
    close === '"' ? known === key : known.startsWith(key),
  );
}

function looksLikeCall(written: string): boolean {
  return mayBeCall(written) && /"name"\s*:/.test(written) && /"(parameters|arguments)"\s*:/.test(written);
}

function isMoreThanSeparators(added: string): boolean {
  return !/^[\s;]*$/.test(added);
}

/** Reads `;` and whitespace between calls. Any other text ends the calls. */
function createSeparator(builder: ReplyBuilder): ReplySection {
  return (text, isLast) => {
    const written = text.replace(/^[\s;]+/, '');
    if (written === '') return isLast ? { rest: '' } : { rest: text, isAwaited: isMoreThanSeparators };
    if (written.startsWith('{')) return readCallAt(builder, written, { isTagged: false, isLast });
    return { rest: text, next: createPlainSection(builder) };
  };
}
