import type { ReplyFormat } from './reply-format.js';

/** The opening of a tool call, ending where the model's own tokens would begin: after a colon, before the space. */
export function toCallOpening({ toolCalls, reasoning }: ReplyFormat, name: string | undefined): string | undefined {
  const form = forms[toolCalls];
  if (form === undefined) return undefined;
  const closed = reasoning === 'open' ? '\n</think>\n\n' : '';
  return `${closed}${form.open}{"name":${name === undefined ? '' : ` ${JSON.stringify(name)}, "${form.argumentsKey}":`}`;
}

const forms: Readonly<
  Record<ReplyFormat['toolCalls'], { readonly open: string; readonly argumentsKey: string } | undefined>
> = {
  hermes: { open: '<tool_call>\n', argumentsKey: 'arguments' },
  llama3: { open: '', argumentsKey: 'parameters' },
  none: undefined,
};
