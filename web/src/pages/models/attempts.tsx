// Recent attempts of a model.
import type { ModelExplanation } from '../../../../src/api/models.ts';
import { formatDuration, numberText } from '../../components/format.ts';
import { StateBadge } from '../../components/state-badge.tsx';
import { Empty, Section } from '../../components/states.tsx';
import { DataTable, type Column } from '../../components/table.tsx';
import { Ago } from '../../components/time.tsx';

type Attempt = ModelExplanation['recent_attempts'][number];

const columns: readonly Column<Attempt>[] = [
  { title: 'Started', cell: ({ at }) => <Ago at={at} /> },
  { title: 'Outcome', cell: ({ outcome }) => <OutcomeBadge outcome={outcome} /> },
  { title: 'Status', kind: 'number', isWideOnly: true, cell: ({ status }) => status ?? '–' },
  { title: 'Duration', kind: 'number', cell: ({ duration_ms: ms }) => formatDuration(ms) },
  {
    title: 'Tokens',
    kind: 'number',
    isWideOnly: true,
    cell: ({ prompt_tokens: prompt, completion_tokens: completion }) => numberText(prompt + completion),
  },
  { title: 'Caller', isWideOnly: true, cell: ({ caller }) => caller },
];

export function Attempts({ attempts }: { readonly attempts: readonly Attempt[] }) {
  return (
    <Section title="Recent attempts">
      {attempts.length === 0 ? (
        <Empty title="No attempts yet">Attempts appear when a request is routed to this model.</Empty>
      ) : (
        <DataTable
          label="Recent attempts"
          columns={columns}
          rows={attempts}
          keyOf={({ request_id: id, at }) => `${id} ${at}`}
        />
      )}
    </Section>
  );
}

export function OutcomeBadge({ outcome }: { readonly outcome: string }) {
  return <StateBadge tone={outcome === 'success' ? 'good' : 'warning'}>{outcome}</StateBadge>;
}
