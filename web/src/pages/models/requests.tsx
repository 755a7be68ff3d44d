// The last requests to models.
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
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

/** `GATEWAY_KEY_LIMIT_REACHED` as `key limit reached`: whole words, which fit into the cell. */
const outcomeText = (outcome: string): string =>
  /^[A-Z_]+$/.test(outcome)
    ? outcome
        .replace(/^GATEWAY_/, '')
        .replaceAll('_', ' ')
        .toLowerCase()
    : outcome;

/** Keys by their names. */
const callerText = (caller: string, keyNames: ReadonlyMap<string, string>): string => {
  const name = keyNames.get(caller);
  return name === undefined ? caller : `key ${name}`;
};

const columnsWith = (keyNames: ReadonlyMap<string, string>): readonly Column<GatewayRequest>[] => [
  {
    title: 'Model',
    cell: ({ model, requested_model: requested, api: used, at, caller }) => (
      <>
        {model ?? requested}
        <Detail>{model === null || model === requested ? used : `${used}, requested ${requested}`}</Detail>
        <Detail isNarrowOnly>
          <Ago at={at} />, {callerText(caller, keyNames)}
        </Detail>
      </>
    ),
  },
  {
    title: 'Status',
    cell: ({ status, outcome, attempts }) => (
      <>
        <StateBadge tone={toneOf[status]}>{status}</StateBadge>
        {status === 'completed' || status === outcome ? null : <Detail>{outcomeText(outcome)}</Detail>}
        {attempts > 1 ? <Detail>{attempts} attempts</Detail> : null}
      </>
    ),
  },
  {
    title: 'Started',
    isWideOnly: true,
    cell: ({ at, caller }) => (
      <>
        <Ago at={at} />
        <Detail>{callerText(caller, keyNames)}</Detail>
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
  const keys = useQuery({
    queryKey: ['keys'],
    queryFn: ({ signal }) => api('GET /api/v1/keys', { signal }),
  });
  const keyNames = new Map(keys.data?.keys.map(({ id, name }) => [`key:${id}`, name]));
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
            columns={columnsWith(keyNames)}
            rows={pages.flatMap(({ requests }) => requests)}
            keyOf={({ id }) => id}
          />
        )}
      </Shown>
      <ShowMore of={query} />
    </Section>
  );
}
