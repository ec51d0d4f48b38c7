import { asModel as asLangGraphModel } from '@agentjet/langgraph';
import { asModel as asOpenAIModel } from '@agentjet/openai';
import { asModel as asAiSdkModel } from '@agentjet/ai-sdk';
import type { AssistantMessage, ChatMessage } from '@agentjet/core';
import type { OpenAIEndpoint, Tuner } from '@agentjet/rollout';
import type { LanguageModelV3, LanguageModelV3Content, LanguageModelV3Prompt } from '@ai-sdk/provider';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { OpenAI } from 'openai';
import { type EditableTurn, tool } from './edit-kinds.js';

/**
 * Asks the model, and lets `edit` change the model's turn in the framework's own message object, including the
 * framework's hidden fields. Then it answers the remaining calls and asks again.
 */
export type Driver = {
  readonly name: string;
  readonly run: (place: { readonly tuner: Tuner; readonly endpoint: OpenAIEndpoint }, edit: Edit) => Promise<void>;
};
type Edit = (turn: EditableTurn) => EditableTurn;

const question = 'Move the money.';
const resultText = 'done';
const nextQuestion = 'And now?';
const agentName = 'clerk';

const parse = (written: string): EditableTurn['calls'][number]['args'] =>
  JSON.parse(written) as Readonly<Record<string, unknown>>;

const ownModel: Driver = {
  name: 'own model',
  run: async ({ tuner }, edit) => {
    const model = tuner.selectModel({ agentName }, (tuned) => tuned);
    const tools = [tool];
    const first: ChatMessage = { role: 'user', content: question };
    const { message } = await model.generate({ messages: [first], tools });
    const calls = (message.toolCalls ?? []).map(({ id, name, arguments: written }) => ({
      id,
      name,
      args: parse(written),
    }));
    const edited = edit({ content: message.content, calls });
    const toolCalls = edited.calls.map(({ id, name, args }) => ({ id, name, arguments: JSON.stringify(args) }));
    const turn: AssistantMessage = { ...message, content: edited.content, toolCalls };
    const results = edited.calls.map(({ id }): ChatMessage => ({ role: 'tool', toolCallId: id, content: resultText }));
    await model.generate({ messages: [first, turn, ...results, { role: 'user', content: nextQuestion }], tools });
  },
};

async function runOpenAI(client: OpenAI, edit: Edit): Promise<void> {
  const tools: OpenAI.ChatCompletionTool[] = [
    { type: 'function', function: { ...tool, parameters: { ...tool.parameters } } },
  ];
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }];
  const { choices } = await client.chat.completions.create({ model: 'tuned', messages, tools });
  const message = choices[0]?.message;
  if (message === undefined) throw new Error('no choice');
  const calls = (message.tool_calls ?? []).flatMap((call) =>
    call.type === 'function' ? [{ id: call.id, name: call.function.name, args: parse(call.function.arguments) }] : [],
  );
  const edited = edit({ content: message.content ?? '', calls });
  const toolCalls = edited.calls.map(({ id, name, args }) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: JSON.stringify(args) },
  }));
  messages.push({ role: 'assistant', content: edited.content, ...(toolCalls.length > 0 && { tool_calls: toolCalls }) });
  messages.push(...edited.calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: resultText })));
  messages.push({ role: 'user', content: nextQuestion });
  await client.chat.completions.create({ model: 'tuned', messages, tools });
}

async function runLangGraph(model: BaseChatModel, edit: Edit): Promise<void> {
  const { name, description = '', parameters } = tool;
  const bound = model.bindTools?.([{ type: 'function', function: { name, description, parameters } }]) ?? model;
  const messages: BaseMessage[] = [new HumanMessage(question)];
  const answer = (await bound.invoke(messages)) as AIMessage;
  const calls = (answer.tool_calls ?? []).map(({ id, name: called, args }) => ({ id: id ?? '', name: called, args }));
  const edited = edit({ content: answer.text, calls });
  messages.push(
    // LangChain's own human-in-the-loop middleware edits a turn in this way: it copies the message with other calls.
    new AIMessage({
      ...(answer.id !== undefined && { id: answer.id }),
      content: edited.content,
      additional_kwargs: answer.additional_kwargs,
      response_metadata: answer.response_metadata,
      tool_calls: edited.calls.map((call) => ({ ...call, args: { ...call.args }, type: 'tool_call' as const })),
    }),
    ...edited.calls.map(({ id }) => new ToolMessage({ tool_call_id: id, content: resultText })),
    new HumanMessage(nextQuestion),
  );
  await bound.invoke(messages);
}

async function runAiSdk(model: LanguageModelV3, edit: Edit): Promise<void> {
  const { name, description = '', parameters } = tool;
  const tools = [{ type: 'function' as const, name, description, inputSchema: parameters }];
  const prompt: LanguageModelV3Prompt = [{ role: 'user', content: [{ type: 'text', text: question }] }];
  const { content } = await model.doGenerate({ prompt, tools });
  const texts = content.filter((part) => part.type === 'text');
  const parts = content.filter((part) => part.type === 'tool-call');
  const calls = parts.map(({ toolCallId: id, toolName, input }) => ({ id, name: toolName, args: parse(input) }));
  const edited = edit({ content: texts.map(({ text }) => text).join(''), calls });
  const optionsOf = (part: LanguageModelV3Content | undefined) =>
    part?.providerMetadata === undefined ? {} : { providerOptions: part.providerMetadata };
  const shown = edited.calls.map(({ id, name: toolName, args }) => {
    const part = parts.find(({ toolCallId }) => toolCallId === id);
    return { type: 'tool-call' as const, toolCallId: id, toolName, input: args, ...optionsOf(part) };
  });
  const text = edited.content === '' ? [] : [{ type: 'text' as const, text: edited.content, ...optionsOf(texts[0]) }];
  const results = edited.calls.map(({ id, name: toolName }) => ({
    type: 'tool-result' as const,
    toolCallId: id,
    toolName,
    output: { type: 'text' as const, value: resultText },
  }));
  await model.doGenerate({
    prompt: [
      ...prompt,
      { role: 'assistant', content: [...text, ...shown] },
      ...(results.length === 0 ? [] : [{ role: 'tool' as const, content: results }]),
      { role: 'user', content: [{ type: 'text', text: nextQuestion }] },
    ],
    tools,
  });
}

export const drivers: readonly Driver[] = [
  ownModel,
  { name: 'openai', run: ({ tuner }, edit) => runOpenAI(asOpenAIModel(tuner, { agentName }), edit) },
  {
    name: 'openai over HTTP',
    run: ({ endpoint: { baseUrl, apiKey } }, edit) =>
      runOpenAI(new OpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0 }), edit),
  },
  { name: 'langgraph', run: ({ tuner }, edit) => runLangGraph(asLangGraphModel(tuner, { agentName }), edit) },
  {
    name: 'langgraph over HTTP',
    run: ({ endpoint: { baseUrl, apiKey, model } }, edit) =>
      runLangGraph(new ChatOpenAI({ model, apiKey, maxRetries: 0, configuration: { baseURL: baseUrl } }), edit),
  },
  { name: 'ai-sdk', run: ({ tuner }, edit) => runAiSdk(asAiSdkModel(tuner, { agentName }), edit) },
];
