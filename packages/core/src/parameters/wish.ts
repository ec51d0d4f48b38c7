export const protocolNames = {
  chat: 'Chat Completions',
  completions: 'Completions',
  responses: 'Responses',
  messages: 'Anthropic Messages',
  gemini: 'Gemini generateContent',
  langgraph: 'LangChain call options',
  aiSdk: 'AI SDK',
  agents: 'OpenAI Agents SDK',
} as const;
export type Protocol = keyof typeof protocolNames;

/**
 * `honoured`: it has its effect, or is a label that asks nothing of the model. `reported`: it is accepted without effect and
 * reported once. `refused`: it causes an error that names it, because the answer is trained and would not be what was asked for.
 */
export type Treatment = 'honoured' | 'reported' | 'refused';

/**
 * `names` are top-level names or paths: `text.verbosity`, `tools[].strict`, or `tools[].type=mcp|web_search` for entries
 * whose type begins with one of these. `neutral` lists values of a refused parameter that change nothing and are accepted.
 */
export type Wish = {
  readonly wish: string;
  readonly treatment: Treatment;
  readonly note?: string;
  readonly neutral?: readonly unknown[];
  /** The parameter asks nothing of the model, so any value is accepted. */
  readonly isLabel?: true;
  /** The part of the chat template that the wish concerns: how much to think, whether to think, or variables. */
  readonly asks?: 'thinking' | 'no_thinking' | 'variables';
  readonly names: Readonly<Partial<Record<Protocol, readonly string[]>>>;
};
