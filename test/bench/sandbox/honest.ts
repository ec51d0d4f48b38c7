import type { Language } from '@agentjet/sandbox';

/** A program that a judge would run. It must end within the default limits and print `prints`. */
export type HonestProgram = {
  readonly name: string;
  readonly language: Language;
  readonly code: string;
  readonly stdin?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly prints: string;
};
