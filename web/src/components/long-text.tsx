// Truncated text with a button that shows the rest.
import { Anchor } from '@mantine/core';
import { useState } from 'react';

/** Shows up to `max` characters at first. Text without spaces breaks anywhere. */
export function LongText({ text, max }: { readonly text: string; readonly max: number }) {
  const [isOpen, setOpen] = useState(false);
  const isLong = text.length > max;
  return (
    <span style={{ overflowWrap: 'anywhere' }}>
      {isLong && !isOpen ? `${text.slice(0, max).trimEnd()}… ` : `${text} `}
      {isLong ? (
        <Anchor
          component="button"
          type="button"
          fz="inherit"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? 'Show less' : 'Show all'}
        </Anchor>
      ) : null}
    </span>
  );
}
