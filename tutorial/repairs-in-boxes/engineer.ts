import { asModel } from '@agentjet/openai';
import { EnvironmentError, type OpenSession, type Task, type Tuner, type WorkflowOutput } from 'agentjet';

const mostTurns = 5;

/** Lets the model call the tool `bash` in the container of the task. The verifier of the task gives the reward. */
export async function repair(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const session = await tuner.openEnvironment(task);
  const client = asModel(tuner, { agentName: 'engineer' });
  const tools = session.tools
    .filter(({ name }) => name === 'bash')
    .map(({ name }) => ({ type: 'function' as const, function: { name, description: 'Runs a command.', parameters } }));
  const messages: Parameters<typeof client.chat.completions.create>[0]['messages'] = [
    { role: 'system', content: 'You are a coder. Call the tools.' },
    { role: 'user', content: session.observation.text.trim() },
  ];
  for (let turn = 0; turn < mostTurns; turn++) {
    const { choices } = await client.chat.completions.create({ model: 'engineer', messages, tools });
    const answer = choices[0]?.message;
    if (answer?.tool_calls === undefined || answer.tool_calls.length === 0) break;
    messages.push(answer);
    for (const call of answer.tool_calls)
      if (call.type === 'function')
        messages.push({ role: 'tool', tool_call_id: call.id, content: await run(session, call.function) });
  }
  return {};
}

const parameters = { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] };

async function run(session: OpenSession, call: { readonly name: string; readonly arguments: string }): Promise<string> {
  try {
    return (await session.call(call.name, JSON.parse(call.arguments) as Record<string, unknown>)).text;
  } catch (error) {
    const isModels = error instanceof SyntaxError || (error instanceof EnvironmentError && error.code === 'refused');
    if (isModels) return error.message;
    throw error;
  }
}
