// Why a model is left alone, key by key, and until when.
import type { Model } from '../../../../src/api/models.ts';
import { Code, Table, Text, Title } from '@mantine/core';
import { Until } from '../../parts/time.tsx';
import { Wide } from '../../parts/wide.tsx';

export function Cooldowns({ cooldowns }: Pick<Model, 'cooldowns'>) {
  if (cooldowns.length === 0) return null;
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Left alone
      </Title>
      <Wide label="Cooldowns">
        <Table verticalSpacing={4} miw={480}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Key</Table.Th>
              <Table.Th>Back</Table.Th>
              <Table.Th>Cause</Table.Th>
              <Table.Th>Who said how long</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {cooldowns.map(({ key_id: key, until, cause, source, reason }) => (
              <Table.Tr key={`${key} ${cause}`}>
                <Table.Td>{key === '*' ? 'all of them' : <Code>{key}</Code>}</Table.Td>
                <Table.Td>
                  <Until at={until} over="now" />
                </Table.Td>
                <Table.Td>
                  {cause}
                  {reason === null ? null : (
                    <Text size="xs" c="dimmed">
                      {reason}
                    </Text>
                  )}
                </Table.Td>
                <Table.Td>{source}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Wide>
    </section>
  );
}
