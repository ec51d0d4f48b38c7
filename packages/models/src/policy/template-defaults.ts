import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isJsonObject, type JsonObject, parseJsonObject } from '@agentjet/core';
import type { RunFolder } from '@agentjet/run-folder';
import type { ChatTokenizer } from '@agentjet/tokenizer';

/**
 * Writes the variables as defaults into a folder's chat template. Other servers then render the same prompts as in
 * training, unless a request sets the variables.
 */
export async function writeTemplateDefaults(dir: string, variables: JsonObject): Promise<void> {
  if (Object.keys(variables).length === 0) return;
  const head = Object.entries(variables).map(
    ([name, value]) => `{%- if ${name} is not defined %}{%- set ${name} = ${toLiteral(value)} %}{%- endif %}`,
  );
  const jinja = path.join(dir, 'chat_template.jinja');
  if (existsSync(jinja)) await writeFile(jinja, `${head.join('')}${await readFile(jinja, 'utf8')}`);
  const { file, config } = await readTokenizerConfig(dir);
  const template = config?.['chat_template'];
  if (config === undefined || template === undefined) return;
  const prefix = (source: unknown): unknown => (typeof source === 'string' ? `${head.join('')}${source}` : source);
  const changed = Array.isArray(template)
    ? template.map((entry: unknown) =>
        isJsonObject(entry) ? { ...entry, template: prefix(entry['template']) } : entry,
      )
    : prefix(template);
  await writeFile(file, `${JSON.stringify({ ...config, chat_template: changed }, null, 2)}\n`);
}

/**
 * Writes the chat template that the run trains with into its checkpoints, if the model's files have another template.
 */
export function keepTemplate({ checkpoints }: RunFolder, { changedTemplate }: ChatTokenizer): void {
  if (changedTemplate === undefined) return;
  checkpoints.completeWith((dir) => writeTemplate(dir, changedTemplate));
}

/**
 * Returns the chat template of a model folder. If there are several templates, they are joined. If there is none, the
 * string is empty.
 */
export async function readTemplate(dir: string): Promise<string> {
  const jinja = path.join(dir, 'chat_template.jinja');
  if (existsSync(jinja)) return readFile(jinja, 'utf8');
  const { config } = await readTokenizerConfig(dir);
  return JSON.stringify(config?.['chat_template'] ?? '');
}

/** Replaces the chat template of a model folder: in its own file, and in tokenizer_config.json if it is there too. */
async function writeTemplate(dir: string, source: string): Promise<void> {
  await writeFile(path.join(dir, 'chat_template.jinja'), source);
  const { file, config } = await readTokenizerConfig(dir);
  if (config?.['chat_template'] === undefined) return;
  await writeFile(file, `${JSON.stringify({ ...config, chat_template: source }, null, 2)}\n`);
}

async function readTokenizerConfig(
  dir: string,
): Promise<{ readonly file: string; readonly config: JsonObject | undefined }> {
  const file = path.join(dir, 'tokenizer_config.json');
  return { file, config: existsSync(file) ? parseJsonObject(await readFile(file, 'utf8')) : undefined };
}

/** Returns the value as a Jinja literal. */
function toLiteral(value: unknown): string {
  if (value === null) return 'none';
  if (Array.isArray(value)) return `[${value.map(toLiteral).join(', ')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, inner]) => `${JSON.stringify(key)}: ${toLiteral(inner)}`)
    .join(', ')}}`;
}
