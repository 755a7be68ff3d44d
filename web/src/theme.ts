// Theme of the dashboard. The colors of states are defined once here.
import { Alert, Anchor, createTheme, Modal } from '@mantine/core';

export const theme = createTheme({
  primaryColor: 'blue',
  // Lighter shades lack contrast as text and as background, in both color schemes.
  primaryShade: 8,
  autoContrast: true,
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  defaultRadius: 'md',
  cursorType: 'pointer',
  components: {
    // Color alone does not distinguish a link within text.
    Anchor: Anchor.extend({ defaultProps: { underline: 'always' } }),
    // Accessible name of the × button of notifications, alerts and dialogs.
    CloseButton: { defaultProps: { 'aria-label': 'Close' } },
    // Its <header> would be a second banner landmark.
    Modal: Modal.extend({ defaultProps: { attributes: { header: { role: 'presentation' } } } }),
    Alert: Alert.extend({ defaultProps: { closeButtonLabel: 'Close' } }),
  },
});

export type Tone = 'good' | 'busy' | 'warning' | 'bad' | 'idle';

export const toneColor: Readonly<Record<Tone, string>> = {
  good: 'teal',
  busy: 'blue',
  warning: 'orange',
  bad: 'red',
  idle: 'gray',
};

/** Color for a used share of a limit, 0 to 1. */
export const fullness = (share: number): string =>
  toneColor[share >= 1 ? 'bad' : share >= 0.9 ? 'warning' : 'good'];
