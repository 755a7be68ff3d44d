// State of each store.
import type { Flow } from '../../../../src/api/overview.ts';
import { Text, Title } from '@mantine/core';
import { StateBadge } from '../../components/state-badge.tsx';
import type { Tone } from '../../theme.ts';
import classes from './flow-diagram.module.css';

type State = Flow['dependencies'][number]['state'];

const labels: Readonly<Record<State, string>> = {
  up: 'up',
  down: 'down',
  'not-configured': 'not configured',
};
const tones: Readonly<Record<State, Tone>> = { up: 'good', down: 'bad', 'not-configured': 'idle' };

export function Stores({ flow }: { readonly flow: Flow }) {
  return (
    <section className={classes['stores']} aria-label="Stores">
      <Title order={2} size="sm" fw={600}>
        Stores
      </Title>
      {flow.dependencies.map(({ name, state, detail }) => (
        <div key={name}>
          <StateBadge tone={tones[state]}>
            {name}: {labels[state]}
          </StateBadge>
          {state === 'down' && detail !== null ? (
            <Text size="xs" c="dimmed" className={classes['words']}>
              {detail}
            </Text>
          ) : null}
        </div>
      ))}
    </section>
  );
}
