import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { unstable_startWorker as startWorker } from 'wrangler';

/** The agent runs in workerd, as it does on Cloudflare. Its tool calls back over HTTP, so that the sums can be checked. */
export async function open({ tuner, tool }) {
  const sums = createServer((request, response) => {
    const answer = async () => response.end(tool.run(await json(request)));
    answer().catch((error) => response.destroy(error));
  });
  await new Promise((resolve) => sums.listen(0, '127.0.0.1', resolve));
  const worker = await startWorker({
    config: 'wrangler.json',
    dev: { persist: false, logLevel: 'error', server: { port: 0 }, inspector: false, watch: false },
  });
  const endpoint = tuner.asOpenAIEndpoint({ agentName: 'solver' });
  return {
    ask: async (question, onText) => {
      const asked = { question, isStreamed: onText !== undefined, endpoint, sums: sums.address().port };
      const address = new URL(`/agents/solver/${tuner.episodeId}`, await worker.url);
      const headers = { 'accept-encoding': 'identity' };
      const response = await fetch(address, { method: 'POST', headers, body: JSON.stringify(asked) });
      if (!response.ok) throw new Error(await response.text());
      let text = '';
      for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
        onText?.(chunk);
        text += chunk;
      }
      return text;
    },
    close: async () => {
      await worker.dispose();
      sums.close();
    },
  };
}

/** Pieces that come at once are joined on their way through the proxy of wrangler. */
export const tokenDelayMs = 5;
