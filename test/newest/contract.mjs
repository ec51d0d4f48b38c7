/** Runs in the folder that run.mjs makes, beside the drivers. */
import { readFileSync } from 'node:fs';
import { checkAdapter, formatReport } from '@agentjet/adapter-kit';

const names = { 'react': 'reactDriver', 'openai': 'openaiDriver', 'langgraph': 'langgraphDriver', 'ai-sdk': 'aiSdkDriver', 'openai-agents': 'openaiAgentsDriver' };
const frameworks = { 'react': [], 'openai': ['openai'], 'langgraph': ['@langchain/core', 'langchain'], 'ai-sdk': ['ai'], 'openai-agents': ['@openai/agents'] };
const versionOf = (name) => `${name} ${JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8')).version}`;

for (const [name, exported] of Object.entries(names)) {
  const { [exported]: driver } = await import(`./${name}-driver.ts`);
  const report = await checkAdapter(driver);
  const summary = formatReport(report).split('\n').at(-1);
  console.log(`${report.isKept ? 'ok  ' : 'FAIL'} ${summary}, on Node ${process.versions.node} ${frameworks[name].map(versionOf).join(', ')}`);
  if (!report.isKept) {
    console.log(formatReport(report));
    process.exitCode = 1;
  }
}
process.exit();
