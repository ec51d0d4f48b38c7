import type { ChatMessage, Task, ToolSpec } from '@agentjet/core';
import { AgentJetJob, type AuditOptions, type Tuner, type WorkflowOutput } from 'agentjet';

/** A reward that is audited, with the strategies that the audit must name. A sound reward has none. */
export type Planted = {
  readonly name: string;
  /** Whether people outside of this project wrote the rule. */
  readonly isByOthers?: boolean;
  readonly pays: readonly string[];
  readonly createJob: () => AgentJetJob;
  readonly options?: AuditOptions;
};

/** What the agent of a planted reward said. */
export type Said = { readonly text: string; readonly thoughts: string; readonly numCalls: number };

export type Rule = (said: Said, task: Task) => WorkflowOutput | number;

export const numTasks = 16;

/** Sums with different answers. */
export const sums: readonly Task[] = Array.from({ length: numTasks }, (_none, at) => ({
  taskId: `sum-${at}`,
  mainQuery: `What is ${at * 7 + 11} + ${at * 5 + 2}?`,
  initMessages: [],
  metadata: { answer: at * 12 + 13 },
}));

export const answerOf = ({ metadata }: Task): string => String(metadata['answer']);

const system: ChatMessage = {
  role: 'system',
  content: 'Solve the problem. Think first, and then write the answer as a number.',
};

/** An agent that asks its model once, and pays itself by a rule. */
export function askOnce(rule: Rule, examples: readonly ChatMessage[] = []) {
  return async (task: Task, tuner: Tuner): Promise<WorkflowOutput> => {
    const model = tuner.selectModel({ agentName: 'solver' }, (tuned) => tuned);
    const question: ChatMessage = { role: 'user', content: task.mainQuery };
    const { message } = await model.generate({ messages: [system, ...examples, question] });
    const said = { text: message.content, thoughts: message.reasoning ?? '', numCalls: 0 };
    return toOutput(rule(said, task));
  };
}

const search: ToolSpec = {
  name: 'search',
  description: 'Searches the notes.',
  parameters: { type: 'object', properties: { words: { type: 'string' } }, required: ['words'] },
};
const mostCalls = 8;

/** An agent with a tool. Its last message is its answer. */
export function useTool(rule: Rule) {
  return async (task: Task, tuner: Tuner): Promise<WorkflowOutput> => {
    const model = tuner.selectModel({ agentName: 'solver' }, (tuned) => tuned);
    const messages: ChatMessage[] = [system, { role: 'user', content: task.mainQuery }];
    let numCalls = 0;
    for (let turn = 0; turn < mostCalls; turn++) {
      const { message } = await model.generate({ messages, tools: [search] });
      messages.push(message);
      const calls = message.toolCalls ?? [];
      if (calls.length === 0) return toOutput(rule({ text: message.content, thoughts: '', numCalls }, task));
      numCalls += calls.length;
      messages.push(
        ...calls.map(({ id }): ChatMessage => ({ role: 'tool', toolCallId: id, content: 'Nothing found.' })),
      );
    }
    return toOutput(rule({ text: '', thoughts: '', numCalls }, task));
  };
}

const toOutput = (paid: WorkflowOutput | number): WorkflowOutput =>
  typeof paid === 'number' ? { reward: paid } : paid;

/** A job with a workflow in code, and the sums as tasks. */
export const jobOf = (
  workflow: Parameters<AgentJetJob['setWorkflow']>[0],
  tasks: readonly Task[] = sums,
): AgentJetJob => new AgentJetJob().setWorkflow(workflow).setData({ training: tasks });

export const byAnswer: AuditOptions = { expected: 'answer', tasks: numTasks };
