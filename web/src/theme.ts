// Colours and sizes of the dashboard. Colours of states are named here once, so that a state looks the same everywhere.
import { createTheme } from '@mantine/core';

export const theme = createTheme({
  primaryColor: 'blue',
  // Lighter ones are too pale for words on them, or for words of that colour; in the dark, too.
  primaryShade: 8,
  autoContrast: true,
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  defaultRadius: 'md',
  cursorType: 'pointer',
});

export type Tone = 'good' | 'busy' | 'warning' | 'bad' | 'idle';

export const toneColor: Readonly<Record<Tone, string>> = {
  good: 'teal',
  busy: 'blue',
  warning: 'orange',
  bad: 'red',
  idle: 'gray',
};
