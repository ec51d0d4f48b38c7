import type { SpanAuthor } from '@agentjet/context-tracker';

export type Tone = Exclude<SpanAuthor, 'generated'> | 'title' | 'faint' | 'warning';

/** The way to mark text: by colour on a terminal, and only by characters elsewhere. */
export type Palette = {
  readonly tone: (tone: Tone, text: string) => string;
  /** Colours a sampled token. Likelier tokens are brighter. */
  readonly generated: (logprob: number, text: string) => string;
};

const codes: Readonly<Record<Tone, string>> = {
  system: '34',
  user: '33',
  tool: '35',
  model: '36',
  foreign: '31',
  opening: '36',
  template: '2',
  title: '1',
  faint: '2',
  warning: '31',
};

/** Greens of the 256 colours, one for each brightness. */
const greens = [22, 28, 34, 40, 46] as const;

const paint = (code: string, text: string): string => (text === '' ? '' : `\u001b[${code}m${text}\u001b[0m`);

export const colourPalette: Palette = {
  tone: (tone, text) => paint(codes[tone], text),
  generated: (logprob, text) => paint(`38;5;${greens[brightnessOf(logprob)]}`, text),
};

export const plainPalette: Palette = { tone: (_, text) => text, generated: (_, text) => text };

/** Uses colours on a terminal that supports them, or if FORCE_COLOR is set. NO_COLOR turns them off. */
export function choosePalette(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv = process.env): Palette {
  const isForced = (env['FORCE_COLOR'] ?? '0') !== '0';
  const hasColours = isForced || (stream.isTTY && stream.hasColors(256, env));
  return hasColours && (env['NO_COLOR'] ?? '') === '' ? colourPalette : plainPalette;
}

const numSteps = 5;

/** The brightness of a sampled token, from 0 (unlikely) to 4 (nearly certain). */
function brightnessOf(logprob: number): number {
  return Math.min(numSteps - 1, Math.floor(Math.exp(logprob) * numSteps));
}
