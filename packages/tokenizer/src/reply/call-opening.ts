import type { ReplyFormat } from './reply-format.js';

/**
 * Returns the opening of a tool call. It ends after a colon, before the space, because the model's tokens contain the
 * space before a value.
 */
export function toCallOpening({ toolCalls, reasoning }: ReplyFormat, name: string | undefined): string | undefined {
  const closed = reasoning === 'open' ? '\n</think>\n\n' : '';
  if (toolCalls.openCall !== undefined) return closed + toolCalls.openCall(name);
  const form = toolCalls.callForm;
  if (form === undefined) return undefined;
  return `${closed}${form.open}{"name":${name === undefined ? '' : ` ${JSON.stringify(name)}, "${form.argumentsKey}":`}`;
}
