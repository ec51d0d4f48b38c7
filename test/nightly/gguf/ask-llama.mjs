// `node ask-llama.mjs REQUEST ANSWER [--check]` writes what llama.cpp computes with a GGUF file. It runs in the folder
// that has node-llama-cpp. REQUEST is { model, cases: [{ text, promptIds, answerIds }] }. For each case, ANSWER has the
// ids of the text. For each token of the answer it has the token that llama.cpp would write, the log-probability of
// that token, and the log-probability of the answer's token.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [requestFile, answerFile] = process.argv.slice(2);
const require = createRequire(path.join(process.cwd(), 'package.json'));
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(require.resolve('node-llama-cpp')).href);
const { model: modelPath, cases } = JSON.parse(readFileSync(requestFile, 'utf8'));

const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.error, progressLogs: false });
const model = await llama.loadModel({ modelPath, useMmap: true });
const longest = Math.max(...cases.map(({ promptIds, answerIds }) => promptIds.length + answerIds.length));
const context = await model.createContext({ contextSize: longest + 8, threads: 2, batchSize: longest + 8 });
const sequence = context.getSequence();
const wanted = { probabilities: true, options: { temperature: 1, topK: 0, topP: 1, minP: 0 } };

const answers = [];
for (const { text, promptIds, answerIds } of cases) {
  await sequence.clearHistory();
  const asked = [...promptIds, ...answerIds].map((id, index) =>
    index >= promptIds.length - 1 && index < promptIds.length + answerIds.length - 1
      ? [id, { generateNext: wanted }]
      : id,
  );
  const outputs = (await sequence.controlledEvaluate(asked)).slice(promptIds.length - 1, -1);
  answers.push({
    ids: [...model.tokenize(text, true)],
    places: outputs.map((output, index) => {
      const probabilities = output.next.probabilities;
      const [best, probability] = probabilities.entries().next().value;
      return { best, logprob: Math.log(probability), ours: Math.log(probabilities.get(answerIds[index]) ?? 0) };
    }),
  });
}
writeFileSync(answerFile, JSON.stringify({ build: llama.llamaCppRelease?.release ?? null, size: model.size, answers }));
await llama.dispose();
