// The last requests to models.
import { useInfiniteQuery } from '@tanstack/react-query';
import type { GatewayRequest } from '../../../../src/api/requests.ts';
import { api } from '../../api/client.ts';
import { formatDuration, formatUsd, numberText } from '../../components/format.ts';
import { ShowMore } from '../../components/show-more.tsx';
import { StateBadge } from '../../components/state-badge.tsx';
import { Empty, Section, Shown } from '../../components/states.tsx';
import { DataTable, Detail, type Column } from '../../components/table.tsx';
import { Ago } from '../../components/time.tsx';
import type { Tone } from '../../theme.ts';

const toneOf: Readonly<Record<GatewayRequest['status'], Tone>> = {
  completed: 'good',
  failed: 'bad',
  rejected: 'warning',
  canceled: 'idle',
};

const tokensText = ({ prompt_tokens: prompt, completion_tokens: completion }: GatewayRequest): string =>
  numberText(prompt + completion);

const columns: readonly Column<GatewayRequest>[] = [
  {
    title: 'Model',
    cell: ({ model, requested_model: requested, api: used }) => (
      <>
        {model ?? requested}
        <Detail>{model === null || model === requested ? used : `${used}, requested ${requested}`}</Detail>
      </>
    ),
  },
  {
    title: 'Status',
    cell: ({ status, outcome, attempts }) => (
      <>
        <StateBadge tone={toneOf[status]}>{status}</StateBadge>
        {status === 'completed' ? null : <Detail>{outcome}</Detail>}
        {attempts > 1 ? <Detail>{attempts} attempts</Detail> : null}
      </>
    ),
  },
  {
    title: 'Started',
    cell: ({ at, caller }) => (
      <>
        <Ago at={at} />
        <Detail>{caller}</Detail>
      </>
    ),
  },
  {
    title: 'Duration',
    kind: 'number',
    cell: ({ duration_ms: ms, first_token_ms: firstMs, cost_usd: cost }) => (
      <>
        {formatDuration(ms)}
        {firstMs === null ? null : <Detail>first token {formatDuration(firstMs)}</Detail>}
        {cost === null ? null : <Detail isNarrowOnly>{formatUsd(cost)} USD</Detail>}
      </>
    ),
  },
  { title: 'Tokens', kind: 'number', isWideOnly: true, cell: tokensText },
  {
    title: 'US dollars',
    kind: 'number',
    isWideOnly: true,
    cell: ({ cost_usd: cost }) => formatUsd(cost),
  },
];

export function Requests() {
  const query = useInfiniteQuery({
    queryKey: ['requests'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      api('GET /api/v1/gateway/requests', { query: { after: pageParam, limit: 20 }, signal }),
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: 10_000,
  });
  return (
    <Section title="Requests">
      <Shown
        what="the requests"
        query={query}
        isEmpty={({ pages }) => pages.every(({ requests }) => requests.length === 0)}
        empty={
          <Empty title="No requests in the last 24 hours">
            Requests appear when they have ended, with their attempts, tokens and cost.
          </Empty>
        }
      >
        {({ pages }) => (
          <DataTable
            label="Requests"
            columns={columns}
            rows={pages.flatMap(({ requests }) => requests)}
            keyOf={({ id }) => id}
          />
        )}
      </Shown>
      <ShowMore of={query} />
    </Section>
  );
}
