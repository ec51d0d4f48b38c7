import { ConfigError, parseJsonObject } from '@agentjet/core';
import { findStudios, type KnownStudio } from '@agentjet/studio';
import { createOutput } from '../output.js';
import type { StudioShowFlags } from '../studio-program.js';

/** `ajet studio show` changes what the open pages of a studio show. Returns the exit code. */
export async function showInStudio(address: string, { quote, port, json }: StudioShowFlags): Promise<number> {
  const output = createOutput(json === undefined ? {} : { json });
  const { origin, token } = chooseStudio(port);
  const response = await fetch(`${origin}/api/view`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ address, ...(quote !== undefined && { quote }) }),
  });
  const { address: shown, pages, error } = parseJsonObject(await response.text()) ?? {};
  if (!response.ok) throw new ConfigError('wrong_value', `The studio refused the address: ${String(error)}`);
  output.writeLine(`${String(pages)} open ${pages === 1 ? 'page shows' : 'pages show'} ${String(shown)}`);
  output.writeJson({ address: shown, pages });
  return 0;
}

function chooseStudio(port: string | undefined): KnownStudio {
  const all = findStudios();
  const fitting = port === undefined ? all : all.filter((studio) => String(studio.port) === port);
  const [only] = fitting;
  if (only !== undefined && fitting.length === 1) return only;
  const ports = all.map((studio) => `${studio.port} over ${studio.folder}`).join(', ');
  throw new ConfigError(
    'no_studio',
    all.length === 0
      ? 'No studio is open on this machine. Open one: ajet studio'
      : `Name one of the open studios with --port: ${ports}.`,
  );
}
