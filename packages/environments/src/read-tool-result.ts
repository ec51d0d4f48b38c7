import { isJsonObject } from '@agentjet/core';
import type { ToolResult } from '@agentjet/rollout/inputs';

/** Reads the result of an MCP tool: a list of parts. The agent sees the text of the parts. */
export function readToolResult(result: unknown): ToolResult {
  if (!isJsonObject(result)) return { text: toText(result), data: result };
  const { content, structuredContent, isError, result: inner } = result;
  if (!Array.isArray(content)) return { text: toText(inner ?? structuredContent ?? result), data: result };
  const text = content
    .filter(isJsonObject)
    .map((part) => (typeof part['text'] === 'string' ? part['text'] : `[${String(part['type'])}]`))
    .join('\n');
  return { text, data: structuredContent ?? result, ...(isError === true && { isError }) };
}

const toText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
