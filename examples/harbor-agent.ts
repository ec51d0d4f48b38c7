/**
 * An agent for tasks in Harbor's format: a model with the tools bash, read and write. Evaluate any model with it:
 *
 *     ajet eval --conf harbor.yaml --json                                                  # the model of harbor.yaml
 *     ajet eval --conf harbor.yaml --backbone=debug debug.base_url=https://... debug.model=...   # a hosted model
 */
import { asModel } from '@agentjet/openai';
import { EnvironmentError, type OpenSession, type Task, type Tuner, type WorkflowOutput } from 'agentjet';

const mostTurns = 40;

type Client = ReturnType<typeof asModel>;
type Messages = Parameters<Client['chat']['completions']['create']>[0]['messages'];

export async function work(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const session = await tuner.openEnvironment(task);
  const client = asModel(tuner, { agentName: 'engineer' });
  const messages: Messages = [
    {
      role: 'system',
      content: 'You work on a Linux machine with the given tools. Answer without a tool when you are done.',
    },
  ];
  for (let instruction: string | null = session.observation.text; instruction !== null; ) {
    messages.push({ role: 'user', content: instruction });
    await useTools(client, session, messages);
    instruction = await nextInstruction(task, session);
  }
  return {}; // the judge `environment` asks the verifier
}

async function useTools(client: Client, session: OpenSession, messages: Messages): Promise<void> {
  const tools = session.tools.map((tool) => ({ type: 'function' as const, function: tool }));
  for (let turn = 0; turn < mostTurns; turn++) {
    const { choices } = await client.chat.completions.create({ model: 'engineer', messages, tools });
    const answer = choices[0]?.message;
    if (answer === undefined) return;
    messages.push(answer);
    if (answer.tool_calls === undefined || answer.tool_calls.length === 0) return;
    for (const call of answer.tool_calls) {
      if (call.type !== 'function') continue;
      const content = await callTool(session, call.function);
      messages.push({ role: 'tool', tool_call_id: call.id, content });
    }
  }
}

/** Scores a step of a task that has several, and returns the instruction of the next one, or null. */
async function nextInstruction(task: Task, session: OpenSession): Promise<string | null> {
  const { steps } = (task.metadata['harbor'] ?? {}) as { readonly steps?: readonly string[] };
  if (steps === undefined) return null;
  const { observation, isDone } = await session.step('done');
  return isDone ? null : observation.text;
}

async function callTool(
  session: OpenSession,
  call: { readonly name: string; readonly arguments: string },
): Promise<string> {
  try {
    return (await session.call(call.name, JSON.parse(call.arguments) as Record<string, unknown>)).text;
  } catch (error) {
    const isAgents = error instanceof SyntaxError || (error instanceof EnvironmentError && error.code === 'refused');
    if (isAgents) return error.message; // the agent may repair its call
    throw error;
  }
}
