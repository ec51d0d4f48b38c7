/**
 * An agent for tasks in Harbor's format: a model with the tools bash, read and write. Evaluate any model with it:
 *
 *     ajet eval --conf harbor.yaml --json                                                  # the model of harbor.yaml
 *     ajet eval --conf harbor.yaml --backbone=debug debug.base_url=https://... debug.model=...   # a hosted model
 */
import { asModel } from '@agentjet/openai';
import { EnvironmentError, type OpenSession, type Task, type Tuner, type WorkflowOutput } from 'agentjet';

const mostTurns = 40;

export async function work(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const session = await tuner.openEnvironment(task);
  const client = asModel(tuner, { agentName: 'engineer' });
  const tools = session.tools.map((tool) => ({ type: 'function' as const, function: tool }));
  const messages: Parameters<typeof client.chat.completions.create>[0]['messages'] = [
    {
      role: 'system',
      content: 'You work on a Linux machine with the given tools. Answer without a tool when you are done.',
    },
    { role: 'user', content: session.observation.text },
  ];
  for (let turn = 0; turn < mostTurns; turn++) {
    const { choices } = await client.chat.completions.create({ model: 'engineer', messages, tools });
    const answer = choices[0]?.message;
    if (answer?.tool_calls === undefined || answer.tool_calls.length === 0) break;
    messages.push(answer);
    for (const call of answer.tool_calls) {
      if (call.type !== 'function') continue;
      const content = await callTool(session, call.function);
      messages.push({ role: 'tool', tool_call_id: call.id, content });
    }
  }
  return {}; // the judge `environment` asks the verifier
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
