// One gate of the picture: its number, its limit, what is degraded. It leads to its page.
import { Badge, Progress, Text, UnstyledButton } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import classes from './flow-picture.module.css';

export interface GateProps {
  readonly name: string;
  readonly href: string;
  readonly value: number | string;
  readonly unit: string;
  readonly degraded?: number;
  /** 0 to 1, of its limit. */
  readonly share?: number | undefined;
  readonly children: ReactNode;
}

export function Gate({ name, href, value, unit, degraded = 0, share, children }: GateProps) {
  return (
    <UnstyledButton
      component={Link}
      href={href}
      className={classes['gate']}
      data-gate={name}
      data-degraded={degraded > 0 || undefined}
    >
      <span className={classes['head']}>
        <Text component="span" fw={600} size="sm">
          {name}
        </Text>
        {degraded > 0 ? (
          <Badge component="span" size="sm" variant="light" color="orange" tt="none">
            {degraded} degraded
          </Badge>
        ) : null}
      </span>
      <span className={classes['figure']}>
        <Text component="span" fz={26} fw={700} lh={1.1}>
          {value}
        </Text>
        <Text component="span" size="xs" c="dimmed">
          {unit}
        </Text>
      </span>
      {share === undefined ? null : (
        <Progress value={share * 100} size="sm" color={share >= 0.8 ? 'orange' : 'teal'} aria-hidden />
      )}
      <Text component="span" size="xs" c="dimmed" className={classes['words']}>
        {children}
      </Text>
    </UnstyledButton>
  );
}
