import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { createOnnxBackbone } from '@agentjet/trainer';
import { loadChatTokenizer } from '@agentjet/tokenizer';

export type PromptServer = {
  readonly baseUrl: string;
  /** The number of rows that it has scored. */
  readonly numScored: () => number;
  readonly close: () => Promise<void>;
};

/** Serves a model with the completions API of vLLM. It scores prompts, and generates nothing. */
export async function servePromptLogprobs(modelDir: string): Promise<PromptServer> {
  const model = await createOnnxBackbone({ modelDir, train: false, isInThread: true, threads: 1 });
  const { tokenizer } = await loadChatTokenizer(modelDir);
  let numScored = 0;
  const score = async (prompt: readonly number[]): Promise<readonly unknown[]> => {
    const ids = Int32Array.from(prompt);
    const [logprobs = new Float32Array()] = await model.logprobs([toSample(ids)]);
    numScored++;
    return prompt.map((id, t) =>
      t === 0 ? null : { [id]: { logprob: logprobs[t], decoded_token: tokenizer.decode([id]) } },
    );
  };
  const server = createServer((request, response) => {
    void json(request)
      .then(async (body) => score((body as { readonly prompt: readonly number[] }).prompt))
      .then((tokens) => response.end(JSON.stringify({ choices: [{ prompt_logprobs: tokens }] })))
      .catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    numScored: () => numScored,
    close: async () => {
      server.closeAllConnections();
      await Promise.all([new Promise((resolve) => server.close(resolve)), model.close()]);
    },
  };
}

const toSample = (ids: Int32Array) => ({
  episodeId: 'prompt',
  agentName: 'agent',
  targetTag: 'agent',
  ids,
  lossMask: Uint8Array.from(ids, (_, t) => (t === 0 ? 0 : 1)),
  logprobs: new Float32Array(ids.length),
  policyVersions: new Int32Array(ids.length),
  advantages: new Float32Array(ids.length),
});
