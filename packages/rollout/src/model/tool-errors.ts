import type { ChatRequest } from '@agentjet/core';

/** How programs begin a message about an error, also inside of a list, and how JSON and HTTP report one. */
const beginsWithError = /^\W{0,4}(\w*error|\w*exception|traceback|fatal|failed|failure)\b(?!" ?:)/i;
const reportsError =
  /\b(status(?: code)?|http(?:\/[\d.]+)?):? [45]\d\d\b|"(?:status|status_?code|code)": ?"?[45]\d\d\b|"(?:ok|success)": ?false\b|"(?:error|isError|is_error)":(?! ?(?:null|false|""))/i;
/** Matches messages of services that give no answer, and of their clients. */
const saysUnavailable =
  /^\W{0,4}(?:[45]\d\d\b.{0,40}\b(?:error|unavailable|unauthori[sz]ed|forbidden|not found|bad (?:request|gateway)|too many requests|timeout)|(?:service|server|tool|connection)\b.{0,20}\b(?:unavailable|refused|timed out|reset)|(?:timed out|timeout|permission denied|access denied|unauthori[sz]ed|forbidden|invalid api key|command not found)\b)/i;
/** An error is reported at the beginning. A page that a tool has read may speak of errors later. */
const numRead = 200;

export type ToolResults = {
  readonly results: number;
  readonly errors: number;
  /** The beginning of the first result that reports an error. */
  readonly firstError?: string;
};

/** Counts the results of tools after the last answer in a request, and those that report an error. */
export function countToolResults({ messages }: Pick<ChatRequest, 'messages'>): ToolResults {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  const fresh = messages.slice(last + 1).flatMap(({ role, content }) => (role === 'tool' ? [content] : []));
  const errors = fresh.map((text) => text.slice(0, numRead)).filter(isError);
  const [firstError] = errors;
  return { results: fresh.length, errors: errors.length, ...(firstError !== undefined && { firstError }) };
}

const isError = (text: string): boolean =>
  beginsWithError.test(text.trim()) || saysUnavailable.test(text.trim()) || reportsError.test(text);
