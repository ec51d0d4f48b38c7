import { isJsonObject, parseJsonObject, type ToolSpec } from '@agentjet/core';
import { isMoreThanSpace } from './hold-back.js';
import { findObjectEnd, readCall, type WrittenCall } from './json-call.js';
import type { ReplyBuilder } from './reply-builder.js';
import type { ReplySection } from './reply-section.js';

/**
 * This file reads tool calls without the tags of their template, as small models write them. The answer then consists
 * only of JSON.
 */

const argumentKeys = ['arguments', 'parameters'];

/**
 * Returns the calls of an answer that consists only of calls: one call, a list, or several in a row, bare or in one
 * fenced block. Returns undefined if the answer contains anything else, or if it names a tool that is not one of
 * `tools`.
 */
export function readUntaggedCalls(text: string, tools: readonly ToolSpec[]): readonly WrittenCall[] | undefined {
  const body = withoutFence(text);
  const isList = body.startsWith('[') && body.endsWith(']');
  const calls = readEach(isList ? body.slice(1, -1).trim() : body, isList ? /^\s*,\s*/ : /^\s*[,;]?\s*/);
  const names = new Set(tools.map(({ name }) => name));
  return calls !== undefined && calls.length > 0 && calls.every(({ name }) => names.has(name)) ? calls : undefined;
}

/** Returns the text without the fence that may be around all of it. */
function withoutFence(text: string): string {
  const whole = text.trim();
  const [, fenced = whole] = /^```[\w-]*[ \t]*\r?\n([^]*?)\r?\n?[ \t]*```$/.exec(whole) ?? [];
  return fenced.trim();
}

/** Marks of calls in the forms that models write. They show a call if no family reads them. */
const marks = ['<tool_call>', '</tool_call>', '[TOOL_CALLS]', '<|python_tag|>'];

/**
 * Returns whether an answer without a readable call tries to call one of these tools: it has a mark of a call, a
 * function in the XML of Qwen3-Coder, or it is one JSON object that names a tool and has no readable arguments.
 */
export function triesToCall(text: string, tools: readonly ToolSpec[]): boolean {
  if (marks.some((mark) => text.includes(mark))) return true;
  const names = new Set(tools.map(({ name }) => name));
  if ([...text.matchAll(/<function=([^<>\s]+)>/g)].some(([, name = '']) => names.has(name))) return true;
  const { name, function: called } = parseJsonObject(withoutFence(text)) ?? {};
  const named = isJsonObject(called) ? called['name'] : (called ?? name);
  return typeof named === 'string' && names.has(named);
}

function readEach(text: string, separator: RegExp): readonly WrittenCall[] | undefined {
  const calls: WrittenCall[] = [];
  for (let rest = text; rest !== ''; ) {
    const end = rest.startsWith('{') ? findObjectEnd(rest, 0) : -1;
    const call = end === -1 ? undefined : readCall(rest.slice(0, end), argumentKeys);
    if (call === undefined) return undefined;
    calls.push(call);
    const after = rest.slice(end);
    rest = after.replace(separator, '');
    if (after !== '' && rest === after && !separator.test(after)) return undefined;
    if (after !== '' && rest === '') return undefined; // there is nothing after the separator
  }
  return calls;
}

/**
 * Holds an answer back while it may consist only of calls without tags. The section of its family parses any other
 * answer.
 */
export function createUntaggedSection(
  builder: ReplyBuilder,
  tools: readonly ToolSpec[],
  createTagged: () => ReplySection,
): ReplySection {
  return (text, isLast) => {
    const begun = text.trimStart();
    if (begun === '' && !isLast) return { rest: text, isAwaited: isMoreThanSpace };
    if (!isLast && mayBeCalls(begun))
      return isJson.test(begun) ? { rest: text, isAwaited: () => false } : { rest: text };
    const calls = mayBeCalls(begun) ? readUntaggedCalls(text, tools) : undefined;
    if (calls === undefined) return { rest: text, next: createTagged() };
    builder.untagged(text, calls);
    return { rest: '' };
  };
}

const isJson = /^(?:```[\w-]*\s+)?[[{]/;
const isFence = /^`{1,2}$|^```[\w-]*\s*$/;

function mayBeCalls(begun: string): boolean {
  return isJson.test(begun) || isFence.test(begun);
}
