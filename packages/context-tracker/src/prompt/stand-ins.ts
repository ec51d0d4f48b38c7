import { type ChatTemplate, RecentTexts } from '@agentjet/tokenizer';

/** What is rendered in place of a history (see tail-text.ts). */
export type StandIn = {
  /** `whole`: no shorter text is known to give the same tail. */
  readonly kind: 'stub' | 'preamble' | 'whole';
  /** The number of episodes that met it. In episodes 2, 4, 8, 16 and so on it is compared with the whole history again. */
  numEpisodes: number;
};

const ofTemplates = new WeakMap<ChatTemplate, RecentTexts<Map<string, StandIn>>>();

/** Returns the stand-ins that all episodes with this template and this beginning share. */
export function standInsOf(template: ChatTemplate, beginning: string): Map<string, StandIn> {
  const known = ofTemplates.get(template) ?? new RecentTexts<Map<string, StandIn>>(2 ** 20);
  ofTemplates.set(template, known);
  return known.get(beginning, () => new Map());
}
