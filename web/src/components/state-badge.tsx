// The badge of every state, count and outcome; its color says how good it is.
import { Badge } from '@mantine/core';
import type { ReactNode } from 'react';
import { toneColor, type Tone } from '../theme.ts';

export function StateBadge({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return (
    <Badge component="span" variant="light" color={toneColor[tone]} tt="none" miw="max-content">
      {children}
    </Badge>
  );
}
