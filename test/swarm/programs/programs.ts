import type { ScriptedRequest } from '@agentjet/rollout/testing';

/** A coding agent from the npm registry, with its questions and answers. */
export type Program = {
  readonly package: string;
  readonly version: string;
  /** The file in tutorial/black-box. */
  readonly command: string;
  readonly args: readonly string[];
  /** The tool call that the model makes first. */
  readonly call: string;
  /** It speaks the Agent Client Protocol, and gets the question as a prompt. */
  readonly isAcp?: boolean;
  /** Model names of calls that are not the agent's, as `ajet swarm run --untrained` takes them. */
  readonly untrained?: readonly string[];
};

export const callOf = (name: string, given: object): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: given })}\n</tool_call>`;

export const programs = {
  'claude-code': {
    package: '@anthropic-ai/claude-code',
    version: '2.1.330',
    command: 'claude',
    args: ['-p', '{query}', '--allowedTools', 'Bash(cat a.txt)'],
    call: callOf('Bash', { command: 'cat a.txt' }),
  },
  codex: {
    package: '@openai/codex',
    version: '0.169.0',
    command: 'codex',
    args: ['exec', '--sandbox', 'workspace-write', '--skip-git-repo-check', '{query}'],
    call: callOf('exec_command', { cmd: 'cat a.txt' }),
  },
  opencode: {
    package: 'opencode-ai',
    version: '1.18.33',
    command: 'opencode',
    args: ['run', '{query}'],
    call: callOf('bash', { command: 'cat a.txt', description: 'Reads the file.' }),
  },
} as const satisfies Readonly<Record<string, Program>>;

/** Agents of the registry of the Agent Client Protocol. Their names begin with `acp`. */
export const acpAgents = {
  'acp opencode': { ...programs.opencode, args: ['acp'], isAcp: true },
  'acp claude-agent': {
    package: '@agentclientprotocol/claude-agent-acp',
    version: '0.101.0',
    command: 'claude-agent-acp',
    args: [],
    call: programs['claude-code'].call,
    isAcp: true,
  },
  'acp codex': {
    package: '@agentclientprotocol/codex-acp',
    version: '2.6.0',
    command: 'codex-acp',
    args: [],
    call: programs.codex.call,
    isAcp: true,
    untrained: ['gpt-*'], // it asks such a model for a title after the turn, and its configuration does not change that
  },
} as const satisfies Readonly<Record<string, Program>>;

export type ProgramName = keyof typeof programs;

export const isProgramName = (name: string): name is ProgramName => name in programs;

export const query = 'Which word is in a.txt?';
export const word = 'marzipan';
export const answer = `The word is ${word}.`;

/**
 * Plays a model that calls the tool when it is asked, and answers after it has read the result. All other calls are
 * side calls.
 */
export function reply({ call }: Program, { text }: ScriptedRequest): string {
  if (!text.includes('<tools>')) return 'A word in a file';
  if (!text.includes('<tool_response>')) return call;
  return text.includes(word) ? answer : 'I could not read it.';
}
