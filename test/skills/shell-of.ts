/** Joins the `sh` blocks of a page to one script. `commands` counts its lines, without comments. */
export function shellOf(page: string): { readonly script: string; readonly commands: number } {
  const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block = '']) => block);
  const script = blocks.join('');
  const commands = script.split('\n').filter((line) => line.trim() !== '' && !line.trim().startsWith('#')).length;
  return { script, commands };
}
