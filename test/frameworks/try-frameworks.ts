import { frameworkOf, install, packOurs, runCase } from './project.js';

/** The row of a framework: it works, it fails, or it could not be tried. */
export type FrameworkOutcome = { readonly package: string; readonly version: string } & (
  | { readonly works: true }
  | { readonly works: false; readonly complaints: readonly string[] }
  | { readonly not_tried: string }
);

/** Tries one framework after the other, because an install and a framework's own processes use several cores. */
export function tryFrameworks(
  names: readonly string[],
  onOutcome: (name: string, outcome: FrameworkOutcome) => void = () => {},
): Readonly<Record<string, FrameworkOutcome>> {
  packOurs(names);
  return Object.fromEntries(
    names.map((name) => {
      const outcome = tryOne(name);
      onOutcome(name, outcome);
      return [name, outcome];
    }),
  );
}

function tryOne(name: string): FrameworkOutcome {
  const framework = frameworkOf(name);
  let project: ReturnType<typeof install>;
  try {
    project = install(name);
  } catch (error) {
    return { ...framework, not_tried: whyNot(error) };
  }
  const complaints = runCase(project);
  return complaints.length === 0 ? { ...framework, works: true } : { ...framework, works: false, complaints };
}

/** Returns the first lines of npm's message. */
function whyNot(error: unknown): string {
  const { stderr, message } = error as { readonly stderr?: unknown; readonly message: string };
  const said = typeof stderr === 'string' && stderr !== '' ? stderr : message;
  const lines = said.split('\n').map((line) => line.replace(/^npm error\s*/, '').trim());
  return lines
    .filter((line) => line !== '' && !line.startsWith('A complete log'))
    .slice(0, 6)
    .join('; ');
}
