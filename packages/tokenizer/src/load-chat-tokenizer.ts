import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { isJsonObject, type JsonObject, toErrorMessage, codeOfError } from '@agentjet/core';
import { checkAddedTokens } from './check-added-tokens.js';
import { badModelFiles, type ChatTokenizerOptions, createChatTokenizer } from './chat-tokenizer.js';
import type { ChatTokenizer } from './contract.js';

async function readOptionalText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (thrown) {
    const code = codeOfError(thrown);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw badModelFiles(`Cannot read ${file}: ${toErrorMessage(thrown)}. Check its permissions.`, thrown);
  }
}

function parseObject(file: string, text: string): JsonObject {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (thrown) {
    throw badModelFiles(`${file} is not valid JSON: ${toErrorMessage(thrown)}. Download the file again.`, thrown);
  }
  if (isJsonObject(parsed)) return parsed;
  throw badModelFiles(`${file} must contain a JSON object, not ${text.trim().slice(0, 20)}. Download the file again.`);
}

async function readOptionalObject(file: string): Promise<JsonObject | undefined> {
  const text = await readOptionalText(file);
  return text === undefined ? undefined : parseObject(file, text);
}

async function readObject(file: string): Promise<JsonObject> {
  const found = await readOptionalObject(file);
  if (found !== undefined) return found;
  throw badModelFiles(
    `The model folder has no ${path.basename(file)}: ${file} does not exist. Point model.path at a folder in the Hugging Face layout.`,
  );
}

/** Settings from outside of the model's folder. */
export type ChatTokenizerOverrides = Pick<
  ChatTokenizerOptions,
  'templateVariables' | 'replyFormat' | 'tools' | 'toolCalls' | 'onNotice'
>;

/**
 * Reads tokenizer.json and tokenizer_config.json, and generation_config.json and chat_template.jinja if they exist.
 * Throws BackboneError `bad_model_files` with the file and the repair.
 */
export async function loadChatTokenizer(
  modelDir: string,
  overrides: ChatTokenizerOverrides = {},
): Promise<ChatTokenizer> {
  const tokenizerJson = await readObject(path.join(modelDir, 'tokenizer.json'));
  const tokenizerConfig = await readObject(path.join(modelDir, 'tokenizer_config.json'));
  const generationConfig = await readOptionalObject(path.join(modelDir, 'generation_config.json'));
  const chatTemplate = await readOptionalText(path.join(modelDir, 'chat_template.jinja'));
  const tokenizer = createChatTokenizer({
    tokenizerJson,
    tokenizerConfig,
    ...(generationConfig === undefined ? {} : { generationConfig }),
    ...(chatTemplate === undefined ? {} : { chatTemplate }),
    ...overrides,
  });
  checkAddedTokens(tokenizerJson, {
    config: (await readOptionalObject(path.join(modelDir, 'config.json'))) ?? {},
    template: chatTemplate ?? JSON.stringify(tokenizerConfig['chat_template'] ?? ''),
    file: path.join(modelDir, 'tokenizer.json'),
  });
  return tokenizer;
}
