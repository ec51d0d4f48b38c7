import { randomUUID } from 'node:crypto';
import { HumanMessage, SystemMessage } from '@langchain/core/messages';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { tool } from '@langchain/core/tools';
import {
  Annotation,
  Command,
  END,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
} from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { z } from 'zod';

/**
 * The desk of a market, as a LangGraph developer would write it. Stall holders send notes with a question. The clerk
 * computes the figure with a calculator, the keeper of the market decides about unusual figures, and the writer
 * answers. This file has no code for training.
 */

type AgentName = 'clerk' | 'writer';

/** What the keeper is asked, and the possible answers. */
export type Request = { readonly note: string; readonly figure: string };
export type Decision = 'send' | 'refuse';

export type Answer = {
  /** The clerk's figure for the note. */
  readonly figure: string;
  /** The reply to the stall holder; empty if the keeper refused. */
  readonly reply: string;
};

const DeskState = Annotation.Root({
  ...MessagesAnnotation.spec,
  note: Annotation<string>,
  figure: Annotation<string>,
  decision: Annotation<Decision>,
  reply: Annotation<string>,
});
type Desk = typeof DeskState.State;

const operators: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
};

function calculate(expression: string): string {
  const [, a, operator = '', b] = /^\s*(\d+)\s*([-+*/])\s*(\d+)\s*$/.exec(expression) ?? [];
  const result = operators[operator]?.(Number(a), Number(b));
  return result === undefined ? `cannot read "${expression}"` : String(Math.round(result * 100) / 100);
}

const calculator = tool(({ expression }) => calculate(expression), {
  name: 'calculator',
  description: 'Computes two numbers.',
  schema: z.object({ expression: z.string() }),
});

const clerkPrompt = 'Solve the problem with the calculator. Then answer with the number alone.';
const writerPrompt = 'You answer stall holders of a market in one friendly sentence that contains the figure.';

/** Makes a subgraph in which the clerk calls its calculator until it answers. */
function createClerk(model: BaseChatModel) {
  if (model.bindTools === undefined) throw new Error('The clerk needs a model that can call tools.');
  const withTools = model.bindTools([calculator]);
  return new StateGraph(MessagesAnnotation)
    .addNode('think', async ({ messages }) => ({
      messages: [await withTools.invoke([new SystemMessage(clerkPrompt), ...messages])],
    }))
    .addNode('tools', new ToolNode([calculator]))
    .addEdge(START, 'think')
    .addConditionalEdges('think', toolsCondition)
    .addEdge('tools', 'think')
    .compile();
}

/** Whole figures up to 50 need no approval. */
function isOdd({ figure }: Desk): boolean {
  return !/^\d+$/.test(figure) || Number(figure) > 50;
}

/** The graph; `modelOf` gives each of its two agents a model. */
export function createDesk(modelOf: (agent: AgentName) => BaseChatModel) {
  const writer = modelOf('writer');
  return new StateGraph(DeskState)
    .addNode('read', ({ note }) => ({ messages: [new HumanMessage(note)] }))
    .addNode('clerk', createClerk(modelOf('clerk')))
    .addNode('file', ({ messages }) => ({ figure: messages.at(-1)?.text.trim() ?? '' }))
    .addNode('keeper', ({ note, figure }) => ({ decision: interrupt<Request, Decision>({ note, figure }) }))
    .addNode('write', async ({ note, figure }) => {
      const { text } = await writer.invoke([
        new SystemMessage(writerPrompt),
        new HumanMessage(`Note: ${note}\nFigure: ${figure}`),
      ]);
      return { reply: text };
    })
    .addEdge(START, 'read')
    .addEdge('read', 'clerk')
    .addEdge('clerk', 'file')
    .addConditionalEdges('file', (state) => (isOdd(state) ? 'keeper' : 'write'), ['keeper', 'write'])
    .addConditionalEdges('keeper', ({ decision }) => (decision === 'send' ? 'write' : END), ['write', END])
    .addEdge('write', END)
    .compile({ checkpointer: new MemorySaver() });
}

export type AnswerOptions = {
  /** The keeper. */
  readonly decide: (request: Request) => Decision | Promise<Decision>;
  /** Called with each piece of the reply as it is written. */
  readonly onText?: (piece: string) => void;
  readonly signal?: AbortSignal;
};

/** Answers one note. The graph stops at the keeper, and resumes with the decision. */
export async function answerNote(
  desk: ReturnType<typeof createDesk>,
  note: string,
  { decide, onText, signal }: AnswerOptions,
): Promise<Answer> {
  const thread = {
    configurable: { thread_id: randomUUID() },
    recursionLimit: 10,
    ...(signal !== undefined && { signal }),
  };
  let input: Parameters<typeof desk.stream>[0] = { note };
  for (;;) {
    for await (const [chunk, { langgraph_node: node }] of await desk.stream(input, {
      ...thread,
      streamMode: 'messages',
    }))
      if (node === 'write') onText?.(chunk.text);
    const { values, tasks } = await desk.getState(thread);
    const [request] = tasks.flatMap(({ interrupts }) => interrupts);
    if (request === undefined) return { figure: values.figure ?? '', reply: values.reply ?? '' };
    input = new Command({ resume: await decide(request.value as Request) });
  }
}
