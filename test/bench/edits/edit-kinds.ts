import type { ToolSpec } from '@agentjet/core';

/** The model's turn as every framework has it, in one form that can be edited. */
export type EditableTurn = { readonly content: string; readonly calls: readonly EditableCall[] };
export type EditableCall = {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
};

/** An edit that a human or a guard makes to a turn, and what the next prompt must and must not contain after it. */
export type EditKind = {
  readonly name: string;
  /** The model's answer. */
  readonly answer: string;
  readonly edit: (turn: EditableTurn) => EditableTurn;
  readonly shown: readonly string[];
  readonly hidden: readonly string[];
};

/**
 * `limit` has a default that no edit below uses. Otherwise the default would be filled in, and the edit would change
 * nothing.
 */
export const tool: ToolSpec = {
  name: 'transfer',
  description: 'Moves money.',
  parameters: {
    type: 'object',
    properties: { to: { type: 'string' }, amount: { type: 'number' }, limit: { type: 'number', default: 7 } },
  },
};

const callText = (args: string): string => `<tool_call>\n{"name": "transfer", "arguments": ${args}}\n</tool_call>`;

const withArgs =
  (change: (args: EditableCall['args']) => EditableCall['args']) =>
  (turn: EditableTurn): EditableTurn => ({
    ...turn,
    calls: turn.calls.map((call) => ({ ...call, args: change(call.args) })),
  });
const withText =
  (content: string) =>
  (turn: EditableTurn): EditableTurn => ({ ...turn, content });
const without =
  (name: string) =>
  (args: EditableCall['args']): EditableCall['args'] =>
    Object.fromEntries(Object.entries(args).filter(([key]) => key !== name));

export const editKinds: readonly EditKind[] = [
  {
    name: 'a value changed',
    answer: callText('{"to": "mallory", "amount": 5}'),
    edit: withArgs((args) => ({ ...args, to: 'alice' })),
    shown: ['alice'],
    hidden: ['mallory'],
  },
  {
    name: 'an argument added to none',
    answer: callText('{}'),
    edit: withArgs(() => ({ amount: 1_000_000 })),
    shown: ['1000000'],
    hidden: [],
  },
  {
    name: 'an argument added',
    answer: callText('{"to": "alice"}'),
    edit: withArgs((args) => ({ ...args, limit: 4711 })),
    shown: ['4711'],
    hidden: [],
  },
  {
    name: 'an argument taken out',
    answer: callText('{"to": "alice", "limit": 4711}'),
    edit: withArgs(without('limit')),
    shown: ['alice'],
    hidden: ['4711'],
  },
  {
    name: 'all arguments taken out',
    answer: callText('{"to": "mallory"}'),
    edit: withArgs(() => ({})),
    shown: ['transfer'],
    hidden: ['mallory'],
  },
  {
    name: 'the text next to a call emptied',
    answer: `The secret is 4711.\n${callText('{"to": "alice"}')}`,
    edit: withText(''),
    shown: ['alice'],
    hidden: ['4711'],
  },
  {
    name: 'the text next to a call changed',
    answer: `The secret is 4711.\n${callText('{"to": "alice"}')}`,
    edit: withText('The secret is [redacted].'),
    shown: ['[redacted]', 'alice'],
    hidden: ['4711'],
  },
  {
    name: 'one of two calls taken out',
    answer: `${callText('{"to": "alice"}')}\n${callText('{"to": "mallory"}')}`,
    edit: (turn) => ({ ...turn, calls: turn.calls.slice(0, 1) }),
    shown: ['alice'],
    hidden: ['mallory'],
  },
  {
    name: 'the answer corrected',
    answer: 'Four legs.',
    edit: withText('Six legs.'),
    shown: ['Six legs.'],
    hidden: ['Four legs.'],
  },
];
