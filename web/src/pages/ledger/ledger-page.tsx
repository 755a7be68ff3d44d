// Page Ledger: open and resolved degradations, with repairs and their progress.
import { SegmentedControl, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useSearchParams } from 'wouter';
import { api } from '../../api/client.ts';
import { Empty, PageTitle, Shown } from '../../components/states.tsx';
import { Kinds } from './kinds.tsx';
import { LastRepairs } from './last-repairs.tsx';
import { Rows } from './rows.tsx';

export default function LedgerPage() {
  const [params, setParams] = useSearchParams();
  const state = params.get('state') === 'resolved' ? 'resolved' : 'open';
  const kind = params.get('kind');
  const show = (change: { readonly state?: string; readonly kind?: string | null }): void =>
    setParams({
      state: change.state ?? state,
      ...(change.kind === undefined
        ? kind === null
          ? {}
          : { kind }
        : change.kind === null
          ? {}
          : { kind: change.kind }),
    });
  const kinds = useQuery({
    queryKey: ['ledger', 'kinds'],
    queryFn: ({ signal }) => api('GET /api/v1/ledger/kinds', { signal }),
    refetchInterval: 10_000,
  });
  return (
    <>
      <PageTitle
        right={
          <SegmentedControl
            aria-label="State"
            value={state}
            onChange={(value) => show({ state: value })}
            data={[
              { value: 'open', label: 'Open' },
              { value: 'resolved', label: 'Resolved' },
            ]}
          />
        }
      >
        Ledger
      </PageTitle>
      <Shown
        what="the ledger"
        query={kinds}
        isEmpty={({ kinds: all }) => all.every(({ open, resolved }) => open + resolved === 0)}
        empty={
          <Empty title="No degradations recorded">
            When a part of the server fails or falls back, an entry with its cause and repair appears here.
          </Empty>
        }
      >
        {(data) => (
          <Stack gap="lg">
            <Kinds
              kinds={data.kinds}
              state={state}
              chosen={kind}
              onChoose={(chosen) => show({ kind: chosen })}
            />
            <LastRepairs />
            <Rows state={state} kind={kind} />
          </Stack>
        )}
      </Shown>
    </>
  );
}
