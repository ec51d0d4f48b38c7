import { type DoorProject, expectPart, type Place } from '../door-project.js';

/** Builds a server that uses adapters, without an option that keeps packages out of the bundle, and asks it. */

const agent = `import { asModel } from '@agentjet/langgraph';
import { asModel as asClient } from '@agentjet/openai';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';
import { createAgent } from 'langchain';

export async function solve(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const agent = createAgent({ model: asModel(tuner, { agentName: 'one' }), tools: [] });
  await agent.invoke({ messages: [{ role: 'user', content: task.mainQuery }] });
  return { reward: Number(asClient(tuner, { agentName: 'two' }) !== undefined) };
}
`;
const server = `import { createServer } from 'node:http';
import { solve } from './agent';

const server = createServer((_request, response) => response.end('solve is a ' + typeof solve));
server.listen(0, async () => {
  const { port } = server.address() as { port: number };
  console.log(await (await fetch('http://127.0.0.1:' + port)).text());
  server.close();
});
`;
const packages = ['langchain@1.5.14', '@langchain/core@1.2.13', '@langchain/langgraph@1.4.17', 'openai@6.49.0'];

async function prepare({ write, install }: Place, more: readonly string[]): Promise<void> {
  write({ 'package.json': { name: 'bundled', private: true, type: 'module' }, 'agent.ts': agent, 'server.ts': server });
  await install(...packages, ...more);
}

const ask = async ({ sh }: Place, file: string): Promise<void> =>
  expectPart(await sh(`node ${file}`), 'solve is a function');

export const bundlerProjects: readonly DoorProject[] = [
  {
    name: 'bundle: esbuild',
    run: async (place) => {
      await prepare(place, ['esbuild@0.28.2']);
      await place.sh('npx esbuild server.ts --bundle --platform=node --format=cjs --outfile=out/server.cjs');
      await ask(place, 'out/server.cjs');
    },
  },
  {
    name: 'bundle: webpack',
    run: async (place) => {
      await prepare(place, ['webpack@5.113.0', 'webpack-cli@6.0.1', 'esbuild-loader@4.3.0', 'esbuild@0.28.2']);
      place.write({
        'webpack.config.cjs': `module.exports = {
  mode: 'production', target: 'node20', entry: './server.ts',
  output: { filename: 'server.cjs', path: __dirname + '/out' },
  resolve: { extensions: ['.ts', '.js'] },
  module: { rules: [{ test: /\\.ts$/, loader: 'esbuild-loader' }] },
};
`,
      });
      await place.sh('npx webpack --config webpack.config.cjs');
      await ask(place, 'out/server.cjs');
    },
  },
  {
    name: 'bundle: Vite',
    run: async (place) => {
      await prepare(place, ['vite@7.3.1']);
      place.write({
        'vite.config.ts': `export default {
  ssr: { noExternal: true },
  build: { ssr: 'server.ts', outDir: 'out', rollupOptions: { output: { entryFileNames: 'server.js' } } },
};
`,
      });
      await place.sh('npx vite build');
      await ask(place, 'out/server.js');
    },
  },
  {
    name: 'bundle: Next.js',
    run: async (place) => {
      place.write({
        'package.json': { name: 'site', private: true },
        'lib/agent.ts': agent,
        'app/layout.tsx':
          'export default function Layout({ children }: { children: React.ReactNode }) {\n  return <html><body>{children}</body></html>;\n}\n',
        'app/page.tsx': 'export default function Page() {\n  return <p>home</p>;\n}\n',
        'app/api/solve/route.ts':
          "import { solve } from '../../../lib/agent';\n\nexport const dynamic = 'force-dynamic';\nexport function GET() {\n  return new Response('solve is a ' + typeof solve);\n}\n",
        'ask.mjs': askNext,
      });
      await place.install(
        ...packages,
        'next@16.4.6',
        'react@19',
        'react-dom@19',
        'typescript@5.9.3',
        '@types/node@20',
        '@types/react@19',
      );
      await place.sh('npx next build', { env: { NEXT_TELEMETRY_DISABLED: '1' } });
      await ask(place, 'ask.mjs');
    },
  },
];

/** Starts the built site on a free port, asks it once, and ends it. */
const askNext = `import { spawn } from 'node:child_process';
import { createServer } from 'node:net';

const port = await new Promise((resolve) => {
  const probe = createServer().listen(0, () => { const { port } = probe.address(); probe.close(() => resolve(port)); });
});
const next = spawn(process.execPath, ['node_modules/next/dist/bin/next', 'start', '-p', String(port)], { stdio: 'inherit' });
for (let attempt = 0; attempt < 60; attempt++) {
  const answer = await fetch('http://127.0.0.1:' + port + '/api/solve').catch(() => undefined);
  if (answer !== undefined) { console.log(await answer.text()); break; }
  await new Promise((resolve) => setTimeout(resolve, 500));
}
next.kill();
`;
