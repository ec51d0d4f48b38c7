import { signal } from '@preact/signals';

/** Light or dark: by the wish of the system until someone switches. */
export type Theme = 'light' | 'dark';

const dark = matchMedia('(prefers-color-scheme: dark)');
const kept = readKept();

export const theme = signal<Theme>(kept ?? (dark.matches ? 'dark' : 'light'));

/** Some browsers do not let a page that was opened as a file store anything. */
function readKept(): Theme | undefined {
  try {
    const value = localStorage.getItem('ajet-theme');
    return value === 'light' || value === 'dark' ? value : undefined;
  } catch {
    return undefined;
  }
}

export function startTheme(): void {
  dark.addEventListener('change', ({ matches }) => {
    if (readKept() === undefined) theme.value = matches ? 'dark' : 'light';
  });
  theme.subscribe((value) => (document.documentElement.dataset['theme'] = value));
}

export function switchTheme(): void {
  theme.value = theme.value === 'dark' ? 'light' : 'dark';
  try {
    localStorage.setItem('ajet-theme', theme.value);
  } catch {
    // the choice lasts until the page is closed
  }
}

/** The value of a colour of the style sheet, for charts, which draw on a canvas. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
