// A text that may be long: its beginning, and a button for the rest, by touch and keyboard alike.
import { Anchor } from '@mantine/core';
import { useState } from 'react';

/** `most` characters are shown at first. What has no spaces breaks anywhere. */
export function LongText({ text, most }: { readonly text: string; readonly most: number }) {
  const [isOpen, setOpen] = useState(false);
  const isLong = text.length > most;
  return (
    <span style={{ overflowWrap: 'anywhere' }}>
      {isLong && !isOpen ? `${text.slice(0, most).trimEnd()}… ` : `${text} `}
      {isLong ? (
        <Anchor
          component="button"
          type="button"
          fz="inherit"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? 'less' : 'all of it'}
        </Anchor>
      ) : null}
    </span>
  );
}
