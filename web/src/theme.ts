// Colours and sizes of the dashboard. Colours of states are named here once, so that a state looks the same everywhere.
import { Alert, Anchor, createTheme, Modal } from '@mantine/core';

export const theme = createTheme({
  primaryColor: 'blue',
  // Lighter ones are too pale for words on them, or for words of that colour; in the dark, too.
  primaryShade: 8,
  autoContrast: true,
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  defaultRadius: 'md',
  cursorType: 'pointer',
  components: {
    // Among other words a colour alone does not tell a link, least of all in the dark.
    Anchor: Anchor.extend({ defaultProps: { underline: 'always' } }),
    // The × of notifications, boxes and dialogs is a picture only: who does not see it hears this.
    CloseButton: { defaultProps: { 'aria-label': 'Close' } },
    // Its <header> would count as a second one of the page.
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

/** Of a dot, which the darker ones do not show in the dark. */
export const dotColor = (tone: Tone): string => (tone === 'idle' ? 'gray.6' : toneColor[tone]);
