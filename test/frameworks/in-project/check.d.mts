import type { ScriptedRequest } from '@agentjet/rollout/testing';
import type { Tuner } from '@agentjet/rollout';

type Tool = {
  readonly name: string;
  readonly description: string;
  readonly parameters: object;
  readonly run: (numbers: { readonly a: number; readonly b: number }) => string;
};
type Agent = {
  readonly ask: (question: string, onText?: (piece: string) => void) => Promise<string | undefined>;
  readonly close?: () => unknown;
};
export type Case = {
  readonly open: (given: { readonly tuner: Tuner; readonly tool: Tool }) => Agent | Promise<Agent>;
  readonly reply?: (request: ScriptedRequest) => string;
  readonly isStreaming?: boolean;
  /** Default: 0. The pieces of a stream may be joined on their way if they come at once. */
  readonly tokenDelayMs?: number;
  readonly calls?: number;
  readonly rows?: number;
  /** By agent, then by cause. */
  readonly forks?: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly side?: number;
};
/** Returns what is wrong with the agent of a case. */
export function check(given: Case): Promise<readonly string[]>;
