import { type AdapterDriver, type DriverAnswer, type DriverCall, features } from '@agentjet/adapter-kit';
import { asModel } from '@agentjet/google';
import {
  type Content,
  FunctionCallingConfigMode,
  type GenerateContentParameters,
  type GenerateContentResponse,
  GoogleGenAI,
} from '@google/genai';

type History = { readonly system: string; readonly contents: readonly Content[] };

function add(history: History, ...contents: readonly Content[]): History {
  return { ...history, contents: [...history.contents, ...contents] };
}

function toParameters({ system, contents }: History, options: DriverCall): GenerateContentParameters {
  const { tools, sampling, toolChoice, requestId, signal } = options;
  const { temperature, topP, topK, maxTokens, stop, seed } = sampling;
  const isNamed = typeof toolChoice === 'object';
  const modes = {
    auto: FunctionCallingConfigMode.AUTO,
    none: FunctionCallingConfigMode.NONE,
    required: FunctionCallingConfigMode.ANY,
  } as const;
  const mode = isNamed ? modes.required : toolChoice && modes[toolChoice];
  const functionDeclarations = tools.map(({ name, description = '', parameters }) => ({
    name,
    description,
    parametersJsonSchema: parameters,
  }));
  return {
    model: 'tuned',
    contents: [...contents],
    config: {
      systemInstruction: system,
      thinkingConfig: { includeThoughts: true },
      ...(tools.length > 0 && { tools: [{ functionDeclarations }] }),
      ...(mode !== undefined && {
        toolConfig: {
          functionCallingConfig: { mode, ...(isNamed && { allowedFunctionNames: [toolChoice.name] }) },
        },
      }),
      ...(temperature !== undefined && { temperature }),
      ...(topP !== undefined && { topP }),
      ...(topK !== undefined && { topK }),
      ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
      ...(stop !== undefined && { stopSequences: [...stop] }),
      ...(seed !== undefined && { seed }),
      ...(signal !== undefined && { abortSignal: signal }),
      ...(requestId !== undefined && { httpOptions: { headers: { 'idempotency-key': requestId } } }),
    },
  };
}

/** Reads an answer, or all pieces of one. A stream keeps each piece as a content, as the SDK's chats do. */
function toAnswer(history: History, responses: readonly GenerateContentResponse[]): DriverAnswer<History> {
  const contents = responses.flatMap(({ candidates }) => candidates?.[0]?.content ?? []);
  const parts = contents.flatMap(({ parts: own = [] }) => own);
  const toolCalls = parts.flatMap(({ functionCall: call }) =>
    call === undefined ? [] : [{ id: call.id ?? '', name: call.name ?? '' }],
  );
  const thoughts = parts.flatMap(({ thought, text }) => (thought === true ? [text ?? ''] : []));
  const last = responses.at(-1);
  const usage = last?.usageMetadata;
  const reason = last?.candidates?.[0]?.finishReason;
  const finishReason = reason === 'MAX_TOKENS' ? 'length' : toolCalls.length > 0 ? 'tool_calls' : reason?.toLowerCase();
  return {
    history: add(history, ...contents),
    text: parts.map(({ thought, text = '' }) => (thought === true ? '' : text)).join(''),
    toolCalls,
    reasoning: thoughts.length === 0 ? undefined : thoughts.join(''),
    finishReason,
    usage: {
      promptTokens: usage?.promptTokenCount,
      completionTokens: (usage?.candidatesTokenCount ?? 0) + (usage?.thoughtsTokenCount ?? 0),
    },
  };
}

/** Answers of Google's own models, with parts that another model cannot read. */
const othersAnswers = (text: string): readonly Content[] => [
  { role: 'model', parts: [{ text: 'hm', thought: true, thoughtSignature: 'EqQB' }, { text }] },
  { role: 'model', parts: [{ inlineData: { mimeType: 'image/png', data: '' } }, { text }] },
  {
    role: 'model',
    parts: [{ executableCode: { code: '1' } }, { codeExecutionResult: { output: '1' } }, { text }],
  },
  { role: 'model', parts: [{ text, thoughtSignature: 'EqQB' }] },
];

export const googleDriver: AdapterDriver<GoogleGenAI, History> = {
  name: 'google',
  asModel,
  debugModel: new GoogleGenAI({ apiKey: 'unused' }),
  says: features.filter((feature) => feature !== 'parallelToolCalls'),
  begin: (question, system) => ({ system, contents: [{ role: 'user', parts: [{ text: question }] }] }),
  addQuestion: (history, text) => add(history, { role: 'user', parts: [{ text }] }),
  addToolResults: (history, results) =>
    results.length === 0
      ? history
      : add(history, {
          role: 'user',
          parts: results.map(({ id, name, content }) => ({
            functionResponse: { id, name, response: { output: content } },
          })),
        }),
  withoutThinking: ({ system, contents }) => ({
    system,
    contents: contents.map(({ parts = [], ...content }) => ({
      ...content,
      parts: parts.filter(({ thought }) => thought !== true),
    })),
  }),
  addOthersAnswers: (history, text) => othersAnswers(text).map((answer) => add(history, answer)),
  call: async (client, history, options) =>
    toAnswer(history, [await client.models.generateContent(toParameters(history, options))]),
  stream: async (client, history, options, onText) => {
    const chunks: GenerateContentResponse[] = [];
    for await (const chunk of await client.models.generateContentStream(toParameters(history, options))) {
      chunks.push(chunk);
      for (const { text = '', thought } of chunk.candidates?.[0]?.content?.parts ?? [])
        if (text !== '' && thought !== true) onText(text);
    }
    return toAnswer(history, chunks);
  },
};
