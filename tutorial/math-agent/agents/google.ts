import type { Content, GoogleGenAI, Part } from '@google/genai';
import { calculate, calculatorDescription, maxCalls, systemPrompt } from '../calculator.js';

const calculator = {
  name: 'calculator',
  description: calculatorDescription,
  parametersJsonSchema: { type: 'object', properties: { expression: { type: 'string' } }, required: ['expression'] },
};

/** Runs a loop over the plain SDK. */
export async function solve(question: string, client: GoogleGenAI, signal?: AbortSignal): Promise<string> {
  const contents: Content[] = [{ role: 'user', parts: [{ text: question }] }];
  const config = {
    systemInstruction: systemPrompt,
    tools: [{ functionDeclarations: [calculator] }],
    ...(signal !== undefined && { abortSignal: signal }),
  };
  for (let numCalls = 0; numCalls < maxCalls; numCalls++) {
    const answer = await client.models.generateContent({ model: 'gemini-2.5-flash', contents, config });
    const calls = answer.functionCalls ?? [];
    if (calls.length === 0) return answer.text ?? '';
    contents.push(answer.candidates?.[0]?.content ?? {}, {
      role: 'user',
      parts: calls.map(({ id = '', name = '', args = {} }): Part => {
        const output = calculate(readExpression(args));
        return { functionResponse: { id, name, response: { output } } };
      }),
    });
  }
  return '';
}

function readExpression(args: Readonly<Record<string, unknown>>): string {
  return 'expression' in args ? String(args['expression']) : JSON.stringify(args); // the calculator reports that it cannot read it
}
