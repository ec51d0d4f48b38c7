import { asModel } from '@agentjet/google';
import { type Content, GoogleGenAI, type Part } from '@google/genai';
import { type FidelityAgent, maxSteps, systemPrompt, toolNames } from '../agent.js';

const functionDeclarations = toolNames.map((name) => ({
  name,
  description: `Tool ${name}.`,
  parametersJsonSchema: { type: 'object', properties: {} },
}));
const config = { systemInstruction: systemPrompt, tools: [{ functionDeclarations }] };

/** This is the usual hand-written loop around the SDK. It sends the model's contents back unchanged. */
export const googleAgent: FidelityAgent<GoogleGenAI> = {
  name: 'google',
  native: (tuner) => asModel(tuner, { agentName: 'agent' }),
  overHttp: ({ baseUrl, apiKey }) =>
    new GoogleGenAI({ apiKey, vertexai: false, httpOptions: { baseUrl: baseUrl.replace(/\/v1$/, '') } }),
  converse: async (client, questions, isStreamed) => {
    const contents: Content[] = [];
    for (const question of questions) {
      contents.push({ role: 'user', parts: [{ text: question }] });
      for (let step = 0; step < maxSteps; step++) {
        const answer = await ask(client, contents, isStreamed);
        contents.push(...answer);
        const calls = answer.flatMap(({ parts = [] }) => parts.flatMap(({ functionCall: call }) => call ?? []));
        const results = calls.map(({ id = '', name = '' }, at): Part => {
          return { functionResponse: { id, name, response: { output: `result ${step}.${at}` } } };
        });
        if (results.length === 0) break;
        contents.push({ role: 'user', parts: results });
      }
    }
  },
};

/** Returns the contents of an answer. A stream has one for each piece, as the SDK's chats keep it. */
async function ask(
  client: GoogleGenAI,
  contents: readonly Content[],
  isStreamed: boolean,
): Promise<readonly Content[]> {
  const asked = { model: 'tuned', contents: [...contents], config };
  const answers = [];
  if (isStreamed) for await (const chunk of await client.models.generateContentStream(asked)) answers.push(chunk);
  else answers.push(await client.models.generateContent(asked));
  return answers.flatMap(({ candidates }) => candidates?.[0]?.content ?? []);
}
