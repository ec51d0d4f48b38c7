export const protocolNames = {
  chat: 'Chat Completions',
  completions: 'Completions',
  responses: 'Responses',
  messages: 'Anthropic Messages',
  langgraph: 'LangChain call options',
  aiSdk: 'AI SDK',
  agents: 'OpenAI Agents SDK',
} as const;
export type Protocol = keyof typeof protocolNames;

/**
 * `honoured`: it has its effect, or is a label that asks nothing of the model. `reported`: accepted without effect, and
 * said once. `refused`: an error that names it, since the answer would not be what was asked for, and answers are trained.
 */
export type Treatment = 'honoured' | 'reported' | 'refused';

/**
 * `names` are top-level names, or paths: `text.verbosity`, `tools[].strict`, and `tools[].type=mcp|web_search` for entries
 * whose type begins with one of these. `neutral`: values of a refused parameter that change nothing, and are accepted.
 */
export type Wish = {
  readonly wish: string;
  readonly treatment: Treatment;
  readonly note?: string;
  readonly neutral?: readonly unknown[];
  /** Asks nothing of the model, so that any value is accepted. */
  readonly isLabel?: true;
  /** The wishes that concern the chat template: how much to think, not to think, or certain variables. */
  readonly asks?: 'thinking' | 'no_thinking' | 'variables';
  readonly names: Readonly<Partial<Record<Protocol, readonly string[]>>>;
};
