// Verdict buttons with their keyboard shortcuts.
import { ActionIcon, Button, Group, Kbd } from '@mantine/core';
import { IconArrowBackUp, IconArrowLeft, IconArrowRight } from '@tabler/icons-react';
import type { Verdict } from './review-session.ts';
import type { Reviewing } from './use-reviewing.ts';

const answers: readonly { readonly verdict: Verdict; readonly label: string; readonly key: string }[] = [
  { verdict: 'same', label: 'Same', key: 's' },
  { verdict: 'different', label: 'Different', key: 'd' },
  { verdict: 'later', label: 'Decide later', key: 'l' },
];

export function VerdictBar({ reviewing }: { readonly reviewing: Reviewing }) {
  const { session, current, verdict, isUndoing, answer, move, undo } = reviewing;
  const canDecide = current !== null && verdict === null;
  return (
    <Group gap="xs" role="group" aria-label="Verdict">
      {answers.map(({ verdict: each, label, key }) => (
        <Button
          key={each}
          variant={each === 'same' ? 'filled' : 'default'}
          disabled={!canDecide}
          aria-keyshortcuts={key}
          rightSection={
            <Kbd size="xs" visibleFrom="sm">
              {key}
            </Kbd>
          }
          px="sm"
          onClick={() => answer(each)}
        >
          {label}
        </Button>
      ))}
      <Group gap="xs" wrap="nowrap">
        <ActionIcon
          variant="default"
          size="lg"
          aria-label="Previous pair"
          disabled={session.at === 0}
          onClick={() => move(-1)}
        >
          <IconArrowLeft size={18} />
        </ActionIcon>
        <ActionIcon
          variant="default"
          size="lg"
          aria-label="Next pair"
          disabled={current === null}
          onClick={() => move(1)}
        >
          <IconArrowRight size={18} />
        </ActionIcon>
      </Group>
      <Button
        variant="subtle"
        px="sm"
        leftSection={<IconArrowBackUp size={16} aria-hidden />}
        rightSection={
          <Kbd size="xs" visibleFrom="sm">
            u
          </Kbd>
        }
        disabled={session.decided.length === 0}
        loading={isUndoing}
        aria-keyshortcuts="u"
        onClick={undo}
      >
        Undo
      </Button>
    </Group>
  );
}
