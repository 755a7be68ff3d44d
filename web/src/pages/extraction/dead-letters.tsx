// Failed pages with their cause, and a button to retry them.
import type { ExtractionRun, VaultSummary } from '../../../../src/api/extraction.ts';
import { Badge, Button, Group, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { get } from '../../api/client.ts';
import { useIsNarrow } from '../../parts/narrow.ts';
import { Empty, Shown } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { Wide } from '../../parts/wide.tsx';
import { isOpen } from './run-facts.ts';
import { useSources, useStartRun } from './sources.tsx';

export function useVault(run: string) {
  return useQuery({
    queryKey: ['extraction', 'vault', run],
    queryFn: ({ signal }) => get<VaultSummary>(`/api/v1/extraction/runs/${run}/vault`, {}, signal),
  });
}

export function DeadLetters({ run }: { readonly run: ExtractionRun }) {
  const query = useVault(run.id);
  return (
    <section>
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4">
          Failed pages
        </Title>
        {(query.data?.dead_letters.length ?? 0) > 0 ? <RetryButton run={run} /> : null}
      </Group>
      <Shown
        what="the vault"
        query={query}
        isEmpty={({ dead_letters: letters }) => letters.length === 0}
        empty={<Empty title="No failed pages" />}
      >
        {({ dead_letters: letters }) => <Letters letters={letters} />}
      </Shown>
    </section>
  );
}

/** Runs started by the CLI have no registered source: the same command retries them. */
function RetryButton({ run }: { readonly run: ExtractionRun }) {
  const sources = useSources();
  const start = useStartRun();
  const source = sources.data?.sources.find(({ name }) => name === run.source);
  if (source === undefined)
    return (
      <Text size="sm" c="dimmed">
        Retry with headworks extract … --retry-failed
      </Text>
    );
  return (
    <Button
      size="xs"
      disabled={isOpen(run)}
      loading={start.isRunning}
      onClick={() => start.run({ source: source.id, again: true })}
    >
      Retry failed pages
    </Button>
  );
}

function Letters({ letters }: { readonly letters: VaultSummary['dead_letters'] }) {
  const isNarrow = useIsNarrow();
  return (
    <Wide label="Failed pages">
      <Table verticalSpacing={4} {...(isNarrow ? { horizontalSpacing: 6 } : { miw: 560 })}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Type</Table.Th>
            {isNarrow ? null : <Table.Th>Page</Table.Th>}
            <Table.Th>Cause</Table.Th>
            {isNarrow ? null : <Table.Th>When</Table.Th>}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {letters.map((letter) => (
            <Table.Tr key={`${letter.session} ${letter.type} ${letter.page}`}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                {letter.type}
                {isNarrow ? (
                  <Text size="xs" c="dimmed">
                    {letter.page}, <Ago at={letter.at} />
                  </Text>
                ) : null}
              </Table.Td>
              {isNarrow ? null : <Table.Td style={{ overflowWrap: 'anywhere' }}>{letter.page}</Table.Td>}
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                <Badge variant="light" tt="none" color="orange">
                  {letter.cause}
                </Badge>
                <Text size="xs" c="dimmed">
                  {letter.message}
                </Text>
              </Table.Td>
              {isNarrow ? null : (
                <Table.Td>
                  <Ago at={letter.at} />
                </Table.Td>
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Wide>
  );
}
